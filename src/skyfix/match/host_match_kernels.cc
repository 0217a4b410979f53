// MatchKernels on host memory, by the SIMD kernels.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "skyfix/base/parallel.h"
#include "skyfix/match/half.h"
#include "skyfix/match/match_kernels.h"
#include "skyfix/match/panels.h"
#include "skyfix/match/runner_up.h"

namespace skyfix {
namespace {

constexpr std::int64_t kPieceBytes = 1 << 20;  // of rows that must be copied to be used
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::int64_t rows_per_piece(int dimension) {
  const std::int64_t row_bytes = static_cast<std::int64_t>(dimension) * sizeof(float);
  return std::max<std::int64_t>(1, kPieceBytes / row_bytes);
}

const void* row_address(const DeviceRows& rows, std::int64_t row) {
  return static_cast<const std::byte*>(rows.data) +
         row * rows.dimension * static_cast<std::int64_t>(row_type_bytes(rows.type));
}

bool is_ruled_out(const DeviceRows& rows, std::int64_t row) {
  return rows.bias != nullptr && rows.bias[row] < 0;
}

// Rows as float32, in pieces. A row that the bias rules out is a NaN, as the SIMD kernels expect.
class Float32Pieces {
 public:
  explicit Float32Pieces(const DeviceRows& rows) : rows_(rows) {
    bool copies = rows.type != RowType::float32;
    for (std::int64_t i = 0; i < rows.rows && !copies; ++i) copies = is_ruled_out(rows, i);
    piece_rows_ = copies ? rows_per_piece(rows.dimension) : std::max<std::int64_t>(rows.rows, 1);
    if (copies) copy_.resize(std::min(piece_rows_, rows.rows) * rows.dimension);
  }

  // Calls visit(rows as float32, index of the first) for one piece after the other.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::int64_t begin = 0; begin < rows_.rows; begin += piece_rows_) {
      visit(piece(begin, std::min(begin + piece_rows_, rows_.rows)), begin);
    }
  }

 private:
  DescriptorView piece(std::int64_t begin, std::int64_t end) {
    const int d = rows_.dimension;
    if (copy_.empty()) {
      return {static_cast<const float*>(row_address(rows_, begin)), end - begin, d};
    }
    widen_elements(rows_.type, row_address(rows_, begin), (end - begin) * d, copy_.data());
    for (std::int64_t i = begin; i < end; ++i) {
      if (is_ruled_out(rows_, i)) copy_[(i - begin) * d] = kNan;
    }
    return {copy_.data(), end - begin, d};
  }

  const DeviceRows& rows_;
  std::int64_t piece_rows_ = 1;
  std::vector<float> copy_;
};

void raise_keys(const std::vector<std::int64_t>& neighbours, const std::vector<float>& scores,
                std::int64_t first_index, MatchKey* keys) {
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    if (neighbours[i] < 0) continue;
    const auto index = static_cast<std::uint32_t>(first_index + neighbours[i]);
    keys[i] = std::max(keys[i], match_key(scores[i], index));
  }
}

void accumulate_one(const MatchWork& work) {
  assert(work.query.dimension == work.map.dimension && work.query.type == work.map.type);
  Float32Pieces query_pieces(work.query);
  Float32Pieces map_pieces(work.map);
  query_pieces.for_each([&](DescriptorView query, std::int64_t query_begin) {
    map_pieces.for_each([&](DescriptorView map, std::int64_t map_begin) {
      const NearestNeighbours found = nearest_neighbours(query, map);
      raise_keys(found.nn_query, found.score_query, work.map.first_index + map_begin,
                 work.query_keys + query_begin);
      if (work.map_keys == nullptr) return;
      raise_keys(found.nn_map, found.score_map, work.query.first_index + query_begin,
                 work.map_keys + map_begin);
    });
  });
}

// The listed rows of a frame as float32, one after the other.
std::vector<float> gather_listed(const DeviceRows& rows, const std::int64_t* listed,
                                 std::int64_t count) {
  std::vector<float> values(count * rows.dimension);
  for (std::int64_t i = 0; i < count; ++i) {
    float* row = values.data() + i * rows.dimension;
    widen_elements(rows.type, row_address(rows, listed[i]), rows.dimension, row);
    if (is_ruled_out(rows, listed[i])) row[0] = kNan;
  }
  return values;
}

class HostMatchKernels : public MatchKernels {
 public:
  void check_rows(const DeviceRows& rows, float* bias) override {
    DeviceRows unjudged = rows;
    unjudged.bias = nullptr;
    Float32Pieces(unjudged).for_each([&](DescriptorView piece, std::int64_t begin) {
      parallel_for(piece.rows, 1024, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
          const bool usable = match::all_finite(piece.row(i), piece.dimension);
          bias[begin + i] = usable ? 0 : -std::numeric_limits<float>::infinity();
        }
      });
    });
  }

  void clear_keys(MatchKey* keys, std::int64_t count) override {
    std::fill_n(keys, count, MatchKey{0});
  }

  void accumulate(std::span<const MatchWork> work) override {
    for (const MatchWork& item : work) accumulate_one(item);
  }

  void decode(MatchKey* keys_to_indices, float* scores, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      const MatchKey key = keys_to_indices[i];
      scores[i] = match_key_score(key);
      keys_to_indices[i] = static_cast<MatchKey>(match_key_index(key));
    }
  }

  void keep_mutual(const MutualWork& work) override {
    for (std::int64_t j = 0; j < work.map_rows; ++j) {
      const std::int64_t i = work.map_indices[j];
      const bool mutual = i >= 0 && work.query_indices[i] == j;
      if (!mutual) work.map_indices[j] = -1;
      if (work.sure == nullptr) continue;
      work.sure[j] = mutual ? std::min(work.query_sure[i], work.map_sure[j]) : 0.0f;
    }
  }

  void runner_up(const DeviceRows& query, const std::int64_t* listed,
                 const std::uint32_t* row_group, std::int64_t listed_count, const DeviceRows& map,
                 const std::uint32_t* map_group, float* best) override {
    const std::int64_t step = rows_per_piece(query.dimension);
    std::vector<std::int32_t> order(std::min(step, listed_count));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    Float32Pieces map_pieces(map);
    for (std::int64_t begin = 0; begin < listed_count; begin += step) {
      const auto count = static_cast<std::size_t>(std::min(step, listed_count - begin));
      const std::vector<float> rows =
          gather_listed(query, listed + begin, static_cast<std::int64_t>(count));
      const DescriptorView view{rows.data(), static_cast<std::int64_t>(count), query.dimension};
      map_pieces.for_each([&](DescriptorView piece, std::int64_t map_begin) {
        match::raise_to_other_groups(view, std::span(order).first(count),
                                     {row_group + begin, count}, piece,
                                     {map_group + map_begin, static_cast<std::size_t>(piece.rows)},
                                     {best + begin, count}, Simd::automatic);
      });
    }
  }
};

}  // namespace

std::unique_ptr<MatchKernels> make_host_match_kernels() {
  return std::make_unique<HostMatchKernels>();
}

}  // namespace skyfix
