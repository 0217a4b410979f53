#include "skyfix/simulate/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace skyfix::sim {
namespace {

constexpr float kWarpM = 3.5f;
constexpr float kWarpWavelengthM = 95;
constexpr double kLargestParcelM = 85;
constexpr int kRoadDepth = 4;  // the first splits are roads, later ones tracks

Border border_of_split(int depth, Rng& rng) {
  if (depth < kRoadDepth) return Border::road;
  return rng.uniform() < 0.7 ? Border::track : Border::none;
}

}  // namespace

Layout::Layout(std::uint64_t seed, double half_size_m) {
  Rng rng(seed, 1);
  angle_ = rng.uniform(0.1, 0.6);
  cos_ = float(std::cos(angle_));
  sin_ = float(std::sin(angle_));
  warp_salt_ = std::uint32_t(rng.bits());
  Parcel all;
  const double reach = half_size_m * 1.5 + 2 * kWarpM;  // the turned square covers the scene
  all.low = {-reach, -reach};
  all.high = {reach, reach};
  all.borders.fill(Border::none);
  split(all, 0, rng);
  deal_covers(rng);
}

int Layout::split(Parcel area, int depth, Rng& rng) {
  const int index = int(nodes_.size());
  nodes_.emplace_back();
  const Eigen::Vector2d size = area.high - area.low;
  const int axis = size.x() > size.y() ? 0 : 1;
  if (size[axis] < kLargestParcelM) {
    area.salt = std::uint32_t(rng.bits());
    area.row_angle = float(rng.uniform(-0.2, 0.2)) + (rng.uniform() < 0.5 ? 0.0f : 1.5708f);
    nodes_[index].low = int(parcels_.size());
    parcels_.push_back(area);
    return index;
  }
  const double at = area.low[axis] + size[axis] * rng.uniform(0.4, 0.6);
  const Border border = border_of_split(depth, rng);
  Parcel low = area;
  Parcel high = area;
  low.high[axis] = at;
  low.borders[2 * axis + 1] = border;
  high.low[axis] = at;
  high.borders[2 * axis] = border;
  nodes_[index].axis = axis;
  nodes_[index].at = float(at);
  const int low_child = split(low, depth + 1, rng);
  const int high_child = split(high, depth + 1, rng);
  nodes_[index].low = low_child;
  nodes_[index].high = high_child;
  return index;
}

// Dealt from the middle outwards, from shuffled decks, so that every cover lies where the cameras
// look, whatever the seed.
void Layout::deal_covers(Rng& rng) {
  const std::array deck = {LandCover::crop,     LandCover::crop,       LandCover::grass,
                           LandCover::soil,     LandCover::gravel,     LandCover::housing,
                           LandCover::housing,  LandCover::plantation, LandCover::parking,
                           LandCover::industry, LandCover::wood,       LandCover::pond};
  std::vector<std::size_t> order(parcels_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double distance_a = (parcels_[a].low + parcels_[a].high).squaredNorm();
    const double distance_b = (parcels_[b].low + parcels_[b].high).squaredNorm();
    return distance_a != distance_b ? distance_a < distance_b : a < b;
  });
  std::vector<LandCover> hand;
  for (const std::size_t parcel : order) {
    if (hand.empty()) {
      hand.assign(deck.begin(), deck.end());
      for (std::size_t i = hand.size(); i > 1; --i) std::swap(hand[i - 1], hand[rng.below(i)]);
    }
    parcels_[parcel].cover = hand.back();
    hand.pop_back();
  }
}

Spot Layout::plan_from_ground(Spot ground) const {
  const float x = ground.x / kWarpWavelengthM;
  const float y = ground.y / kWarpWavelengthM;
  const float east = ground.x + kWarpM * value_noise(x, y, warp_salt_);
  const float north = ground.y + kWarpM * value_noise(x, y, warp_salt_ + 1);
  return {cos_ * east + sin_ * north, cos_ * north - sin_ * east};
}

Eigen::Vector2d Layout::ground_from_plan(const Eigen::Vector2d& plan) const {
  const Eigen::Vector2d warped(cos_ * plan.x() - sin_ * plan.y(),
                               sin_ * plan.x() + cos_ * plan.y());
  Eigen::Vector2d ground = warped;
  for (int i = 0; i < 20; ++i) {  // the warp's slope is below 0.2: five times closer each round
    const Spot back = plan_from_ground({float(ground.x()), float(ground.y())});
    const Eigen::Vector2d again(cos_ * back.x - sin_ * back.y, sin_ * back.x + cos_ * back.y);
    ground += warped - again;
  }
  return ground;
}

const Parcel& Layout::parcel_at(Spot plan) const {
  int node = 0;
  while (nodes_[node].axis >= 0) {
    const float at = nodes_[node].axis == 0 ? plan.x : plan.y;
    node = at < nodes_[node].at ? nodes_[node].low : nodes_[node].high;
  }
  return parcels_[nodes_[node].low];
}

}  // namespace skyfix::sim
