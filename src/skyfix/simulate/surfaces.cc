// The colours of what stands on the ground. Patterns live in each solid's own frame, so that
// solids of one style are true repetitions; only weathering differs from one to the next.
#include "skyfix/simulate/materials.h"

namespace skyfix::sim {
namespace {

Colour shade(const Colour& colour, float change) { return colour * std::max(0.15f, 1 + change); }

Spot local_spot(const Solid& solid, const Eigen::Vector3d& point) {
  const Eigen::Vector2d local = solid.local(point.head<2>());
  return {float(local.x()), float(local.y())};
}

Spot ground_spot(const Eigen::Vector3d& point) { return {float(point.x()), float(point.y())}; }

// A number in [0, 1) that belongs to a style.
float trait(std::uint32_t style, int which) { return lattice(which, 0, style); }

// 0..1 coverage of a rectangle.
float rectangle(Spot p, Spot centre, Spot half, float fp) {
  return band(p.x - centre.x, half.x, fp) * band(p.y - centre.y, half.y, fp);
}

Colour wall(const Solid& solid, const Eigen::Vector3d& point, float fp) {
  const Spot p = local_spot(solid, point);
  const float along = p.x + p.y;
  const float up = float(solid.eave - point.z());
  const float windows = band(off_grid(along, 2.6f), 0.6f, fp) * band(up - 1.6f, 0.6f, fp);
  const Colour plaster = shade({0.42f, 0.4f, 0.36f}, 0.4f * (trait(solid.style, 9) - 0.5f));
  return mix(plaster, {0.05f, 0.06f, 0.07f}, windows);
}

Colour tiled_roof(const Solid& solid, const Eigen::Vector3d& point, float fp) {
  constexpr float kTileM = 0.62f;
  const Spot p = local_spot(solid, point);
  const Colour palette[] = {
      {0.33f, 0.12f, 0.075f}, {0.26f, 0.15f, 0.1f}, {0.13f, 0.13f, 0.145f}, {0.36f, 0.2f, 0.12f}};
  const Colour base = palette[int(trait(solid.style, 1) * 4)];
  const float tiles =
      value_noise(p.x / kTileM, p.y / kTileM, solid.style) * visible_share(kTileM, fp);
  const float moss = fractal(ground_spot(point), {1.7f, 3, 1.0f, 301}, fp);
  Colour colour = shade(base, 0.35f * tiles + 0.26f * moss);
  colour = mix(colour, base * 1.5f, 0.7f * band(p.y, 0.16f, fp));
  const float hx = float(solid.half.x());
  const float hy = float(solid.half.y());
  const float sky_x = (trait(solid.style, 2) - 0.5f) * hx;
  const float window = rectangle(p, {sky_x, 0.5f * hy}, {0.5f, 0.7f}, fp);
  const float panel = rectangle(p, {-sky_x * 0.6f, -0.55f * hy}, {1.8f, 0.9f}, fp);
  const float seams =
      std::max(band(off_grid(p.x, 0.9f), 0.06f, fp), band(off_grid(p.y, 0.9f), 0.06f, fp));
  colour = mix(colour, {0.06f, 0.08f, 0.1f}, window);
  colour = mix(colour, mix({0.03f, 0.04f, 0.09f}, {0.35f, 0.36f, 0.38f}, 0.7f * seams), panel);
  const float chimney = rectangle(p, {0.6f * hx, -0.8f}, {0.38f, 0.38f}, fp);
  return mix(colour, {0.42f, 0.24f, 0.18f}, chimney);
}

Colour flat_roof(const Solid& solid, const Eigen::Vector3d& point, float fp) {
  const Spot p = local_spot(solid, point);
  const float hx = float(solid.half.x());
  const float hy = float(solid.half.y());
  const float tone = 0.18f + 0.22f * trait(solid.style, 1);
  const float stains = fractal(ground_spot(point), {3.4f, 4, 0.95f, solid.style}, fp);
  const float seams =
      std::max(band(off_grid(p.x, 2.4f), 0.07f, fp), band(off_grid(p.y, 4.8f), 0.07f, fp));
  Colour colour = shade(Colour(tone, tone, tone * 1.03f), 0.27f * stains - 0.4f * seams);
  const float lights =
      band(off_grid(p.x, 4.8f), 0.5f, fp) * band(std::abs(p.y) - 0.5f * hy, 0.9f, fp);
  colour = mix(colour, {0.5f, 0.53f, 0.55f}, 0.8f * lights);
  const float vent_x = (trait(solid.style, 2) - 0.5f) * 1.4f * hx;
  const float vent = rectangle(p, {vent_x, 0.1f * hy}, {0.9f, 0.7f}, fp);
  colour = mix(colour, {0.08f, 0.08f, 0.09f}, vent);
  const float edge = std::max(std::abs(p.x) - hx, std::abs(p.y) - hy) + 0.25f;
  return mix(colour, {0.36f, 0.36f, 0.36f}, band(edge, 0.15f, fp));
}

Colour car_body(const Solid& solid, const Eigen::Vector3d& point, float fp) {
  const Colour paints[] = {{0.5f, 0.5f, 0.5f},   {0.04f, 0.04f, 0.045f}, {0.4f, 0.05f, 0.04f},
                           {0.06f, 0.1f, 0.28f}, {0.24f, 0.25f, 0.26f},  {0.55f, 0.53f, 0.48f}};
  const Spot p = local_spot(solid, point);
  const float glass = std::max(rectangle(p, {0.75f, 0}, {0.35f, 0.75f}, fp),
                               rectangle(p, {-1.25f, 0}, {0.28f, 0.7f}, fp));
  return mix(paints[solid.style % 6], {0.03f, 0.035f, 0.04f}, glass);
}

Colour container(const Solid& solid, const Eigen::Vector3d& point, float fp) {
  const Colour paints[] = {
      {0.3f, 0.1f, 0.05f}, {0.05f, 0.16f, 0.28f}, {0.12f, 0.22f, 0.12f}, {0.4f, 0.38f, 0.33f}};
  const Spot p = local_spot(solid, point);
  const float ribs = visible_share(0.6f, fp) * std::cos(10.5f * p.x);
  const float rust = fractal(p, {1.4f, 3, 0.8f, solid.style}, fp);
  return shade(paints[solid.style % 4], 0.15f * ribs + 0.3f * rust);
}

Colour leaves(const Solid& solid, const Eigen::Vector3d& point, float fp) {
  const Spot p = local_spot(solid, point);
  const float size = float(solid.half.x());
  const float clumps = fractal(p, {0.45f * size + 0.3f, 3, 1.0f, solid.style}, fp);
  const Colour base = mix({0.05f, 0.085f, 0.028f}, {0.11f, 0.14f, 0.045f}, trait(solid.style, 4));
  const float centre = 1 - std::hypot(p.x, p.y) / size;  // the top catches more of the sky
  return shade(base, 0.5f * clumps + 0.5f * centre - 0.2f);
}

}  // namespace

Colour solid_albedo(const Solid& solid, const Eigen::Vector3d& point, float footprint_m) {
  if (solid.shape == Shape::canopy) return leaves(solid, point, footprint_m);
  const bool on_top = solid.normal(point).z() > 0.1;
  switch (solid.use) {
    case SolidUse::house:
      return on_top ? tiled_roof(solid, point, footprint_m) : wall(solid, point, footprint_m);
    case SolidUse::hall:
      return on_top ? flat_roof(solid, point, footprint_m) : wall(solid, point, footprint_m);
    case SolidUse::car:
      return car_body(solid, point, footprint_m);
    default:
      return container(solid, point, footprint_m);
  }
}

Colour albedo(const World& world, const Hit& hit, float footprint_m) {
  if (hit.solid >= 0) return solid_albedo(world.solids.solids()[hit.solid], hit.point, footprint_m);
  const Spot ground{float(hit.point.x()), float(hit.point.y())};
  return ground_albedo(world.layout, ground, footprint_m);
}

}  // namespace skyfix::sim
