// The ground's colours. Everything is a function of position and footprint; contrasts are those of
// real fields and roads, with blobs of a few pixels at the heights that drones fly at, so that
// feature detectors find the same places from neighbouring photos.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "skyfix/simulate/materials.h"

namespace skyfix::sim {
namespace {

Colour tinted(const Colour& colour, float change) { return colour * std::max(0.15f, 1 + change); }

Colour meadow(Spot p, std::uint32_t salt, float fp) {
  const float patches = fractal(p, {11, 2, 0.6f, salt}, fp);
  const float tufts = fractal(p, {1.7f, 3, 1.05f, salt + 11}, fp);
  const Colour base = mix({0.085f, 0.125f, 0.035f}, {0.19f, 0.18f, 0.08f}, 0.45f + 0.4f * patches);
  const float flowers = discs(p, 1.3f, 0.22f, salt + 23, fp);
  return mix(tinted(base, 0.5f * tufts), {0.34f, 0.32f, 0.16f}, 0.7f * flowers);
}

Colour field_of_rows(const Parcel& parcel, Spot plan, Spot p, float fp) {
  constexpr float kRowM = 0.85f;
  const float c = std::cos(parcel.row_angle);
  const float s = std::sin(parcel.row_angle);
  const float across = c * plan.x + s * plan.y;
  const float ridge =
      visible_share(kRowM, fp) * std::cos(2 * std::numbers::pi_v<float> * across / kRowM);
  const float growth = fractal(p, {14, 2, 0.7f, parcel.salt}, fp);
  const float plants = fractal(p, {1.7f, 3, 1.05f, parcel.salt + 7}, fp);
  const float cover = std::clamp(0.5f + 0.22f * growth + 0.16f * ridge + 0.3f * plants, 0.0f, 1.0f);
  const Colour leaf =
      parcel.salt % 2 ? Colour(0.10f, 0.17f, 0.05f) : Colour(0.30f, 0.25f, 0.11f);  // or ripe
  const Colour colour = tinted(mix({0.17f, 0.125f, 0.085f}, leaf, cover), 0.25f * plants);
  const float wheel = std::abs(off_grid(across, 14.0f)) - 0.9f;
  return mix(colour, {0.2f, 0.15f, 0.1f}, 0.8f * band(wheel, 0.22f, fp));
}

Colour ploughed(const Parcel& parcel, Spot plan, Spot p, float fp) {
  const float clods = fractal(p, {1.8f, 3, 1.05f, parcel.salt}, fp);
  const float wet = fractal(p, {17, 2, 0.6f, parcel.salt + 5}, fp);
  const float furrow = visible_share(1.4f, fp) * std::cos(4.5f * plan.y);
  const Colour base = mix({0.12f, 0.085f, 0.06f}, {0.23f, 0.17f, 0.115f}, 0.5f + 0.4f * wet);
  const float stones = discs(p, 1.1f, 0.3f, parcel.salt + 31, fp);
  return mix(tinted(base, 0.42f * clods + 0.1f * furrow), {0.4f, 0.38f, 0.34f}, 0.75f * stones);
}

Colour loose_gravel(Spot p, std::uint32_t salt, float fp) {
  const float grain = fractal(p, {1.75f, 3, 1.05f, salt}, fp);
  const float puddle = smooth_step(0.35f, 0.6f, fractal(p, {9, 2, 0.5f, salt + 3}, fp));
  const float rocks = discs(p, 0.9f, 0.35f, salt + 17, fp);
  const Colour base = mix({0.27f, 0.255f, 0.225f}, {0.12f, 0.115f, 0.1f}, puddle);
  return mix(tinted(base, 0.42f * grain), {0.45f, 0.43f, 0.4f}, 0.6f * rocks);
}

Colour asphalt(Spot p, std::uint32_t salt, float fp) {
  const float wear = fractal(p, {3.4f, 4, 1.0f, salt}, fp);
  const float seam = value_noise(p.x / 3.1f, p.y / 3.1f, salt + 41);
  const float cracks = band(seam * 2.0f, 0.05f, fp) * visible_share(0.25f, fp * 0.5f);
  const float spots = discs(p, 1.8f, 0.4f, salt + 13, fp);
  const Colour worn = tinted({0.125f, 0.125f, 0.13f}, 0.27f * wear - 0.45f * cracks);
  return mix(worn, {0.05f, 0.05f, 0.05f}, 0.6f * spots);
}

Colour parking_lot(const Parcel& parcel, Spot plan, Spot p, float fp) {
  const Colour paint(0.5f, 0.5f, 0.48f);
  const Eigen::Vector2d middle = (parcel.low + parcel.high) / 2;
  const Eigen::Vector2d half = (parcel.high - parcel.low) / 2;
  const float x = plan.x - float(middle.x());
  const float y = plan.y - float(middle.y());
  const Colour base = asphalt(p, 77, fp);
  if (std::abs(x) > half.x() - 6 || std::abs(y) > half.y() - 6) return base;
  const float in_module = y - 16 * std::floor(y / 16);  // bay 5, aisle 6, bay 5
  const bool in_bay = in_module < 5 || in_module > 11;
  const float lines = in_bay ? band(off_grid(x, 2.5f), 0.09f, fp) : 0;
  const float ends = band(off_grid(y, 16.0f), 0.09f, fp);
  return mix(base, paint, 0.85f * std::max(lines, ends));
}

Colour pond(const Parcel& parcel, Spot plan, Spot p, float fp) {
  const Eigen::Vector2d middle = (parcel.low + parcel.high) / 2;
  const Eigen::Vector2d half = (parcel.high - parcel.low) / 2;
  const float x = (plan.x - float(middle.x())) / float(half.x() * 0.72);
  const float y = (plan.y - float(middle.y())) / float(half.y() * 0.72);
  const float shore = std::hypot(x, y) - 1 + 0.28f * fractal(p, {22, 2, 0.5f, parcel.salt}, fp);
  const Colour water(0.03f, 0.055f, 0.06f);
  const Colour mud = tinted({0.15f, 0.13f, 0.09f}, 0.3f * fractal(p, {1.5f, 3, 0.8f, 5}, fp));
  const float soft = fp / float(half.x());
  if (shore < -soft) return water;
  const Colour bank = mix(mud, meadow(p, parcel.salt, fp), smooth_step(0.02f, 0.12f, shore));
  return mix(water, bank, smooth_step(-soft, soft, shore));
}

Colour covered(const Parcel& parcel, Spot plan, Spot p, float fp) {
  switch (parcel.cover) {
    case LandCover::crop:
      return field_of_rows(parcel, plan, p, fp);
    case LandCover::soil:
      return ploughed(parcel, plan, p, fp);
    case LandCover::gravel:
      return loose_gravel(p, parcel.salt, fp);
    case LandCover::parking:
      return parking_lot(parcel, plan, p, fp);
    case LandCover::industry:
      return asphalt(p, parcel.salt, fp);
    case LandCover::pond:
      return pond(parcel, plan, p, fp);
    case LandCover::wood:
      return tinted(meadow(p, parcel.salt, fp), -0.35f);
    default:
      return meadow(p, parcel.salt, fp);
  }
}

struct NearestBorder {
  Border kind = Border::none;
  float distance = 1e9f;  // from its centre line
  float along = 0;
};

// Of the borders that reach this spot, the one to be drawn: roads over tracks.
NearestBorder border_at(const Parcel& parcel, Spot plan) {
  const std::array<float, 4> distance = {
      plan.x - float(parcel.low.x()), float(parcel.high.x()) - plan.x,
      plan.y - float(parcel.low.y()), float(parcel.high.y()) - plan.y};
  NearestBorder nearest;
  for (std::size_t side = 0; side < 4; ++side) {
    const Border kind = parcel.borders[side];
    if (kind == Border::none) continue;
    const float reach = kind == Border::road ? kRoadHalfWidthM : kTrackHalfWidthM;
    if (distance[side] > reach + 1) continue;
    if (kind > nearest.kind || (kind == nearest.kind && distance[side] < nearest.distance)) {
      nearest = {kind, distance[side], side < 2 ? plan.y : plan.x};
    }
  }
  return nearest;
}

Colour road(const NearestBorder& border, Spot p, float fp) {
  const Colour paint(0.52f, 0.52f, 0.5f);
  const float dash = band(off_grid(border.along, 9), 1.5f, fp);
  const float centre_line = dash * band(border.distance, 0.08f, fp);
  const float edge_line = band(border.distance - (kRoadHalfWidthM - 0.35f), 0.08f, fp);
  return mix(asphalt(p, 3, fp), paint, 0.9f * std::max(centre_line, edge_line));
}

}  // namespace

float discs(Spot p, float cell_m, float probability, std::uint32_t salt, float footprint_m) {
  const float share = visible_share(cell_m * 0.7f, footprint_m);
  if (share <= 0) return 0;
  const float x = p.x / cell_m;
  const float y = p.y / cell_m;
  const int ix = int(std::floor(x));
  const int iy = int(std::floor(y));
  if (lattice(ix, iy, salt) >= probability) return 0;
  const float radius = 0.14f + 0.16f * lattice(ix, iy, salt + 1);
  const float cx = radius + (1 - 2 * radius) * lattice(ix, iy, salt + 2);
  const float cy = radius + (1 - 2 * radius) * lattice(ix, iy, salt + 3);
  const float distance = std::hypot(x - float(ix) - cx, y - float(iy) - cy);
  const float soft = 0.7f * footprint_m / cell_m;
  return share * smooth_step(-soft, soft, radius - distance);
}

Colour ground_albedo(const Layout& layout, Spot ground, float footprint_m) {
  const Spot plan = layout.plan_from_ground(ground);
  const Parcel& parcel = layout.parcel_at(plan);
  const NearestBorder border = border_at(parcel, plan);
  if (border.kind == Border::none) return covered(parcel, plan, ground, footprint_m);
  const float ragged = 0.25f * value_noise(ground.x, ground.y, 61);
  const bool is_road = border.kind == Border::road;
  const float half_width = is_road ? kRoadHalfWidthM : kTrackHalfWidthM + ragged;
  const float share = band(border.distance, half_width, footprint_m);
  if (share <= 0) return covered(parcel, plan, ground, footprint_m);
  const Colour way = is_road ? road(border, ground, footprint_m)
                             : tinted(loose_gravel(ground, 19, footprint_m), -0.1f);
  if (share >= 1) return way;
  return mix(covered(parcel, plan, ground, footprint_m), way, share);
}

}  // namespace skyfix::sim
