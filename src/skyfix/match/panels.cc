#include "skyfix/match/panels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "skyfix/base/parallel.h"

namespace skyfix::match {
namespace {

// A block of the map is read once per query panel: it should stay in the second-level cache.
constexpr std::int64_t kBlockBytes = 256 * 1024;
constexpr std::size_t kPanelsPerTask = 8;

int chunk_count(int dimension) { return (dimension + kChunk - 1) / kChunk; }

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Copies a row into its slot of each chunk.
void copy_row(const float* row, int dimension, int panel_rows, float* out) {
  for (int first = 0; first < dimension; first += kChunk, out += panel_rows * kRowStride) {
    std::memcpy(out, row + first, sizeof(float) * std::min(kChunk, dimension - first));
  }
}

}  // namespace

bool all_finite(const float* row, int dimension) {
  constexpr std::uint32_t kExponent = 0x7f800000u;  // all ones: NaN or infinite
  std::uint32_t bad = 0;
  for (int k = 0; k < dimension; ++k) {
    bad |= (std::bit_cast<std::uint32_t>(row[k]) & kExponent) == kExponent ? 1u : 0u;
  }
  return bad == 0;
}

QueryPanelBuffer::QueryPanelBuffer(const Kernel& kernel, int dimension)
    : kernel_(kernel), dimension_(dimension), values_(value_count(kernel, dimension)) {}

std::size_t QueryPanelBuffer::value_count(const Kernel& kernel, int dimension) {
  return static_cast<std::size_t>(chunk_count(dimension)) * kernel.panel_rows * kRowStride;
}

int QueryPanelBuffer::fill(DescriptorView rows, std::span<const std::int32_t> indices) {
  int used = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const float* row = rows.row(indices[i]);
    if (!all_finite(row, dimension_)) continue;
    copy_row(row, dimension_, kernel_.panel_rows, values_.data() + used * kRowStride);
    origin_[used] = indices[i];
    place_[used++] = static_cast<int>(i);
  }
  for (int slot = used; used > 0 && slot < kernel_.panel_rows; ++slot) {
    copy_row(rows.row(origin_[used - 1]), dimension_, kernel_.panel_rows,
             values_.data() + slot * kRowStride);
    origin_[slot] = origin_[used - 1];
    place_[slot] = place_[used - 1];
  }
  return used;
}

std::int64_t MapBlock::slot_capacity(const Kernel& kernel, std::int64_t map_rows, int dimension) {
  const std::int64_t panel_bytes = std::int64_t{4} * dimension * kernel.panel_columns;
  const std::int64_t cached = std::max<std::int64_t>(1, kBlockBytes / panel_bytes);
  const std::int64_t all = divide_up(map_rows, kernel.panel_columns);
  // Blocks of nearly equal size: no short one at the end.
  return divide_up(all, divide_up(all, cached)) * kernel.panel_columns;
}

std::size_t MapBlock::bytes(const Kernel& kernel, std::int64_t map_rows, int dimension) {
  const std::int64_t slots = slot_capacity(kernel, map_rows, dimension);
  return sizeof(float) * slots * dimension +
         sizeof(std::int32_t) * (slots + slots / kernel.panel_columns);
}

MapBlock::MapBlock(const Kernel& kernel, std::int64_t map_rows, int dimension)
    : kernel_(kernel),
      dimension_(dimension),
      capacity_(slot_capacity(kernel, map_rows, dimension)),
      values_(capacity_ * dimension),
      filled_(capacity_ / kernel.panel_columns),
      origin_(capacity_) {}

std::int64_t MapBlock::fill(DescriptorView map, std::int64_t first) {
  const std::int64_t end = std::min(first + capacity_, map.rows);
  used_panels_ = divide_up(end - first, kernel_.panel_columns);
  parallel_for(used_panels_, kPanelsPerTask, [&](std::size_t begin, std::size_t stop) {
    for (std::size_t panel = begin; panel < stop; ++panel) {
      fill_panel(map, first, static_cast<std::int64_t>(panel));
    }
  });
  return end;
}

void MapBlock::fill_panel(DescriptorView map, std::int64_t first, std::int64_t panel) {
  const int columns = kernel_.panel_columns;
  float* values = values_.data() + panel * columns * dimension_;
  std::int32_t* origin = origin_.data() + panel * columns;
  const std::int64_t begin = first + panel * columns;
  const std::int64_t end = std::min(begin + columns, map.rows);
  const auto put = [&](int slot, std::int64_t index) {
    const float* row = map.row(index);
    for (int k = 0; k < dimension_; ++k) values[k * columns + slot] = row[k];
    origin[slot] = static_cast<std::int32_t>(index);
  };
  int used = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (all_finite(map.row(i), dimension_)) put(used++, i);
  }
  for (int slot = used; used > 0 && slot < columns; ++slot) put(slot, origin[used - 1]);
  if (used == 0) std::fill_n(origin, columns, static_cast<std::int32_t>(begin));
  filled_[panel] = used;
}

}  // namespace skyfix::match
