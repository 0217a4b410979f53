#include "skyfix/match/match_workspace.h"

#include <algorithm>
#include <bit>

namespace skyfix::match {
namespace {

constexpr std::size_t kSmallestStep = 256;
constexpr std::size_t kStepsPerDoubling = 8;

}  // namespace

std::byte* GrowingBuffer::at_least(std::size_t bytes, Ledger& ledger) {
  if (bytes > buffer_.bytes()) {
    const bool grows = buffer_.bytes() > 0;
    buffer_.reset();  // first, or both would be there at once
    buffer_ = ledger.allocate(grows ? capacity_bound(bytes) : bytes, owner_);
  }
  return buffer_.as<std::byte>();
}

std::uint64_t GrowingBuffer::release() {
  const std::uint64_t bytes = buffer_.bytes();
  buffer_.reset();
  return bytes;
}

std::size_t GrowingBuffer::capacity_bound(std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::size_t step = std::max(kSmallestStep, std::bit_floor(bytes) / kStepsPerDoubling);
  return (bytes + step - 1) / step * step;
}

}  // namespace skyfix::match
