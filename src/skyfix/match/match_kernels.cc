#include "skyfix/match/match_kernels.h"

#include <bit>
#include <limits>

namespace skyfix {
namespace {

constexpr std::uint32_t kSignBit = 0x80000000;

}  // namespace

std::size_t element_bytes(ElementType type) { return type == ElementType::float32 ? 4 : 2; }

// Non-negative floats order as their bits do, negative ones the other way round.
MatchKey match_key(float score, std::uint32_t index) {
  // Adding 0 turns -0 into +0: the two are equal, so they must tie.
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  const std::uint32_t ordered = (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
  return static_cast<MatchKey>(ordered) << 32 | static_cast<std::uint32_t>(~index);
}

std::int64_t match_key_index(MatchKey key) {
  return key == 0 ? -1 : static_cast<std::int64_t>(~static_cast<std::uint32_t>(key));
}

float match_key_score(MatchKey key) {
  if (key == 0) return -std::numeric_limits<float>::infinity();
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  return std::bit_cast<float>((ordered & kSignBit) != 0 ? ordered & ~kSignBit : ~ordered);
}

}  // namespace skyfix
