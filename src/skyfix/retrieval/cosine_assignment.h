// Rows against cluster centres by cosine: what vocabulary training and VLAD have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace skyfix {

// Finds the centre with the largest cosine to a row. Every centre's sum runs in the same order, so
// equal centres score exactly alike and the lowest index wins, on every machine and thread count.
class CosineAssignment {
 public:
  // centres [clusters, dimension], of any length; a centre of zeros has cosine 0 to everything.
  CosineAssignment(std::span<const float> centres, int clusters, int dimension);

  // `row` has `dimension` values; its length does not matter.
  std::uint32_t nearest(const float* row) const;

 private:
  static constexpr int kBlock = 16;  // centres summed together
  int clusters_ = 0;
  int dimension_ = 0;
  std::vector<float> blocks_;  // [blocks, dimension, kBlock], unit centres, padded with zeros
};

// The row scaled to unit length; nullopt when it is all zero or holds something that is no number.
std::optional<std::vector<float>> unit_row(std::span<const float> row);

}  // namespace skyfix
