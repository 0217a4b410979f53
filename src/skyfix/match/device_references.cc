#include "skyfix/match/device_references.h"

#include <algorithm>
#include <cassert>

namespace skyfix::match {
namespace {

constexpr std::size_t kPartAlignment = 256;

std::size_t padded(std::size_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

}  // namespace

ReferenceLayout::ReferenceLayout(std::int64_t rows, int dimension)
    : bias(padded(sizeof(float) * rows * dimension)),
      group(bias + padded(sizeof(float) * rows)),
      bytes(group + sizeof(std::uint32_t) * rows) {}

ReferenceBlock::ReferenceBlock(Device& device, MatchKernels& kernels, void* memory,
                               std::int64_t rows, int dimension)
    : device_(device),
      kernels_(kernels),
      memory_(static_cast<std::byte*>(memory)),
      layout_(rows, dimension),
      dimension_(dimension) {}

PlacedReference ReferenceBlock::add(const PoolReference& reference) {
  const std::int64_t rows = reference.rows.rows;
  auto* values = reinterpret_cast<float*>(memory_) + used_ * dimension_;
  auto* bias = reinterpret_cast<float*>(memory_ + layout_.bias) + used_;
  auto* group = reinterpret_cast<std::uint32_t*>(memory_ + layout_.group) + used_;
  device_.upload(values, reference.rows.data, sizeof(float) * rows * dimension_);
  device_.upload(group, reference.group.data(), sizeof(std::uint32_t) * rows);
  used_ += rows;
  return {{values, bias, rows, dimension_, RowType::float32, 0}, group};
}

void ReferenceBlock::check() {
  kernels_.check_rows({memory_, nullptr, used_, dimension_, RowType::float32, 0},
                      reinterpret_cast<float*>(memory_ + layout_.bias));
}

void ReferenceStore::Spares::put(DeviceBuffer buffer) noexcept {
  if (buffer.data() == nullptr) return;  // moved from
  try {
    buffers_.push_back(std::move(buffer));
  } catch (const std::bad_alloc&) {
    // Then it goes back to the device.
  }
}

DeviceBuffer ReferenceStore::Spares::take(std::size_t bytes) {
  DeviceBuffer taken;
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const auto& buffer) { return buffer.bytes() == bytes; });
  if (found != buffers_.end()) taken = std::move(*found);
  clear();
  return taken;
}

ReferenceStore::Handle ReferenceStore::add(const PoolReference& reference) {
  const std::int64_t rows = reference.rows.rows;
  const std::size_t bytes = ReferenceLayout(rows, reference.rows.dimension).bytes;
  const bool fits = cache_.make_room(bytes);
  DeviceBuffer memory = spares_.take(bytes);
  if (!fits) return nullptr;
  if (memory.data() == nullptr) memory = ledger_.allocate(bytes, kReferenceOwner);
  ReferenceBlock block(ledger_.device(), kernels_, memory.data(), rows, reference.rows.dimension);
  const PlacedReference placed = block.add(reference);
  block.check();
  return cache_.insert(reference.key, Entry(spares_, std::move(memory), placed), bytes);
}

std::uint64_t ReferenceStore::release_unpinned() {
  const std::uint64_t bytes = cache_.release_unpinned();
  spares_.clear();
  return bytes;
}

}  // namespace skyfix::match
