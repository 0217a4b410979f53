// Minimal samples: the better pairs first, then all alike.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {

// Draws triples of pairs with distinct map points and distinct pixels. At first every second sample
// comes from a growing pool of the pairs of highest quality (after PROSAC, Chum and Matas, CVPR
// 2005); the others, and all later ones, are uniform, so that misleading qualities cost a constant.
class Sampler {
 public:
  // `drawable`: places in `pairs` that may be drawn. Keeps a reference to `pairs`.
  Sampler(const PairSet& pairs, std::vector<std::uint32_t> drawable, std::uint64_t seed);

  // False when no such triple was met in a few tries.
  bool draw(std::array<std::uint32_t, 3>* sample);
  // Uniform draws so far: those on which a stopping rule may count.
  int uniform_draws() const { return uniform_draws_; }

 private:
  std::size_t next_pool();

  const PairSet& pairs_;
  std::vector<std::uint32_t> order_;  // best quality first, equal ones shuffled
  std::mt19937_64 random_;
  bool ranked_ = false;
  int draws_ = 0;
  int progressive_draws_ = 0;
  int uniform_draws_ = 0;
};

// Fisher-Yates: std::shuffle differs between standard libraries, and equal seeds shall give equal
// results.
void shuffle(std::span<std::uint32_t> values, std::mt19937_64* random);

}  // namespace skyfix::solve
