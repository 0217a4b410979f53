#include "skyfix/solve/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace skyfix::solve {
namespace {

constexpr int kProgressiveDraws = 200;
constexpr double kSmallestPool = 10;

}  // namespace

void shuffle(std::span<std::uint32_t> values, std::mt19937_64* random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[(*random)() % i]);
}

Sampler::Sampler(const PairSet& pairs, std::vector<std::uint32_t> drawable, std::uint64_t seed)
    : pairs_(pairs), order_(std::move(drawable)), random_(seed) {
  shuffle(order_, &random_);
  std::ranges::stable_sort(order_, std::greater<>{},
                           [&](std::uint32_t i) { return pairs_.quality[i]; });
  ranked_ = !order_.empty() && pairs_.quality[order_.front()] > pairs_.quality[order_.back()] &&
            static_cast<double>(order_.size()) > kSmallestPool;
}

std::size_t Sampler::next_pool() {
  const std::size_t all = order_.size();
  if (ranked_ && progressive_draws_ < kProgressiveDraws && draws_++ % 2 == 0) {
    const double grown = static_cast<double>(progressive_draws_++) / kProgressiveDraws;
    const double size = kSmallestPool * std::pow(all / kSmallestPool, grown);
    return std::min(all, static_cast<std::size_t>(std::ceil(size)));
  }
  ++uniform_draws_;
  return all;
}

bool Sampler::draw(std::array<std::uint32_t, 3>* sample) {
  constexpr int kTries = 20;
  const std::size_t pool = next_pool();
  if (pool < 3) return false;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (std::uint32_t& place : *sample) place = order_[random_() % pool];
    const auto [a, b, c] = *sample;
    const auto& group = pairs_.group;
    const auto& pixel = pairs_.pixel_id;
    if (group[a] != group[b] && group[a] != group[c] && group[b] != group[c] &&
        pixel[a] != pixel[b] && pixel[a] != pixel[c] && pixel[b] != pixel[c]) {
      return true;
    }
  }
  return false;
}

}  // namespace skyfix::solve
