#include "skyfix/solve/pair_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace skyfix::solve {
namespace {

// Numbers 0.. for equal keys, in the keys' order; returns how many there are.
template <class Key>
std::size_t number_densely(std::size_t count, const Key& key, std::vector<std::uint32_t>* ids) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, key);
  ids->resize(count);
  std::uint32_t next = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (k > 0 && key(order[k]) != key(order[k - 1])) ++next;
    (*ids)[order[k]] = next;
  }
  return count == 0 ? 0 : next + 1;
}

bool usable(const PointPair& pair) {
  return pair.pixel.allFinite() && pair.point.allFinite() && std::isfinite(pair.sigma_px) &&
         pair.sigma_px > 0;
}

// Of pairs (squared error, place) that share a map point or a pixel, leaves the better ones.
void keep_better(const PairSet& pairs, std::vector<std::pair<double, std::uint32_t>>* near) {
  std::ranges::sort(*near);
  std::vector<std::uint8_t> group_used(pairs.group_count);
  std::vector<std::uint8_t> pixel_used(pairs.pixel_count);
  std::erase_if(*near, [&](const auto& entry) {
    std::uint8_t& group = group_used[pairs.group[entry.second]];
    std::uint8_t& pixel = pixel_used[pairs.pixel_id[entry.second]];
    if (group || pixel) return true;
    group = pixel = 1;
    return false;
  });
  std::ranges::sort(*near, {}, [](const auto& entry) { return entry.second; });
}

}  // namespace

PairSet usable_pairs(std::span<const PointPair> pairs) {
  PairSet out;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const PointPair& pair = pairs[i];
    if (!usable(pair)) continue;
    out.source.push_back(static_cast<std::uint32_t>(i));
    out.pixel.push_back(pair.pixel);
    out.point.push_back(pair.point);
    out.sigma_px.push_back(pair.sigma_px);
    out.quality.push_back(std::isnan(pair.quality) ? std::numeric_limits<double>::lowest()
                                                   : pair.quality);
  }
  out.group_count = number_densely(
      out.size(), [&](std::uint32_t i) { return pairs[out.source[i]].group; }, &out.group);
  out.pixel_count = number_densely(
      out.size(), [&](std::uint32_t i) { return std::tuple(out.pixel[i].x(), out.pixel[i].y()); },
      &out.pixel_id);
  return out;
}

PairSet pairs_where(const PairSet& pairs, std::span<const std::uint8_t> keep) {
  PairSet out;
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    if (!keep[i]) continue;
    kept.push_back(i);
    out.source.push_back(pairs.source[i]);
    out.pixel.push_back(pairs.pixel[i]);
    out.point.push_back(pairs.point[i]);
    out.sigma_px.push_back(pairs.sigma_px[i]);
    out.quality.push_back(pairs.quality[i]);
  }
  out.group_count = number_densely(
      kept.size(), [&](std::uint32_t k) { return pairs.group[kept[k]]; }, &out.group);
  out.pixel_count = number_densely(
      kept.size(), [&](std::uint32_t k) { return pairs.pixel_id[kept[k]]; }, &out.pixel_id);
  return out;
}

double Consensus::rms_px() const {
  return inliers.empty() ? 0 : std::sqrt(squared_sum_px / inliers.size());
}

Consensus consensus(const PairSet& pairs, const Camera& camera, const View& view,
                    double max_error_px) {
  const double limit = max_error_px * max_error_px;
  std::vector<std::pair<double, std::uint32_t>> near;
  near.reserve(pairs.size());
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    const double squared = squared_error_px(camera, view, pairs.point[i], pairs.pixel[i]);
    if (squared <= limit) near.emplace_back(squared, i);
  }
  if (!pairs.all_distinct()) keep_better(pairs, &near);
  Consensus out;
  out.inliers.reserve(near.size());
  for (const auto& [squared, i] : near) {
    out.inliers.push_back(i);
    out.score += 1 - squared / limit;
    out.squared_sum_px += squared;
  }
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_depth(const PairSet& pairs, std::span<const std::uint32_t> which, const View& view) {
  std::vector<double> depths;
  depths.reserve(which.size());
  for (const std::uint32_t i : which) depths.push_back(view.to_camera(pairs.point[i]).z());
  return median(std::move(depths));
}

}  // namespace skyfix::solve
