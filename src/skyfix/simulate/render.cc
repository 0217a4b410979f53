// One photo of the scene: a ray through each pixel, more where an edge of a solid or of a shadow
// crosses it (the ground's own patterns are filtered by their footprint already).
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <optional>

#include "skyfix/base/parallel.h"
#include "skyfix/simulate/materials.h"
#include "skyfix/simulate/simulate.h"
#include "skyfix/simulate/world.h"

namespace skyfix {
namespace {

using sim::Colour;

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kAmbient = 0.42;
constexpr double kSun = 0.95;
constexpr double kExposure = 1.3;
constexpr double kGrainLevels = 1.2;  // standard deviation of the sensor's noise, of 255

// Rays of all pixels from a coarse grid of exact ones: undoing a distortion for each pixel would
// cost more than the scene. Lens distortion is so smooth that at 8 px the error is below 0.005 px.
class PixelRays {
 public:
  explicit PixelRays(const Camera& camera)
      : columns_(camera.width / kStepPx + 2), rows_(camera.height / kStepPx + 2) {
    slopes_.resize(std::size_t(columns_) * rows_);
    for (int y = 0; y < rows_; ++y) {
      for (int x = 0; x < columns_; ++x) {
        const auto ray = camera.unproject(Eigen::Vector2d(x, y) * kStepPx);
        slopes_[std::size_t(y) * columns_ + x] = ray && ray->z() > 0
                                                     ? Eigen::Vector2d(ray->head<2>() / ray->z())
                                                     : Eigen::Vector2d::Constant(std::nan(""));
      }
    }
  }

  // Direction with z = 1, in the camera's frame.
  Eigen::Vector3d through(const Eigen::Vector2d& pixel) const {
    const Eigen::Vector2d at = pixel / kStepPx;
    const int x = std::clamp(int(at.x()), 0, columns_ - 2);
    const int y = std::clamp(int(at.y()), 0, rows_ - 2);
    const Eigen::Vector2d* low = slopes_.data() + std::size_t(y) * columns_ + x;
    const Eigen::Vector2d* high = low + columns_;
    const double u = at.x() - x;
    const double v = at.y() - y;
    const Eigen::Vector2d slope =
        (1 - v) * ((1 - u) * low[0] + u * low[1]) + v * ((1 - u) * high[0] + u * high[1]);
    return slope.homogeneous();
  }

 private:
  static constexpr int kStepPx = 8;
  int columns_;
  int rows_;
  std::vector<Eigen::Vector2d> slopes_;
};

// What one ray saw; two neighbours that differ in `what` have an edge between them.
struct Sample {
  Colour colour = Colour::Zero();  // linear
  std::int32_t what = 0;
};

class Shot {
 public:
  Shot(const Scene& scene, const Camera& camera, const Rigid3& cam_from_enu, const Light& light)
      : world_(Renderer::world(scene)),
        camera_(camera),
        rays_(camera),
        enu_from_cam_(cam_from_enu.rotation.conjugate().toRotationMatrix()),
        centre_(cam_from_enu.centre()),
        light_(light) {
    const double azimuth = light.azimuth_deg * kDegree;
    const double elevation = light.elevation_deg * kDegree;
    towards_sun_ = {std::sin(azimuth) * std::cos(elevation),
                    std::cos(azimuth) * std::cos(elevation), std::sin(elevation)};
    for (std::size_t i = 0; i < tone_.size(); ++i) {
      const double linear = double(i) / double(tone_.size() - 1);
      tone_[i] = float(255 * std::pow(linear, light.gamma / 2.2));
    }
  }

  Image picture() const {
    const int width = camera_.width;
    const int height = camera_.height;
    std::vector<Sample> samples(std::size_t(width) * height);
    parallel_for(height, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t y = begin; y < end; ++y) {
        for (int x = 0; x < width; ++x) {
          samples[y * width + x] = sample({x + 0.5, double(y) + 0.5});
        }
      }
    });
    Image image{width, height, 3, std::vector<std::uint8_t>(samples.size() * 3)};
    parallel_for(height, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t y = begin; y < end; ++y) {
        for (int x = 0; x < width; ++x) develop(samples, x, int(y), image.row(int(y)) + 3 * x);
      }
    });
    return image;
  }

 private:
  Sample sample(const Eigen::Vector2d& pixel) const {
    const sim::Ray ray{centre_, enu_from_cam_ * rays_.through(pixel)};
    const std::optional<sim::Hit> hit = world_.cast(ray);
    if (!hit) return {Colour(0.55f, 0.6f, 0.65f), -1000};  // haze beyond the scene
    const float footprint_m = float(hit->t / camera_.focal_x());
    const bool shaded = world_.in_shadow(*hit, towards_sun_);
    const Eigen::Vector3d normal = hit->solid < 0
                                       ? world_.terrain.smooth_normal(hit->point.head<2>())
                                       : world_.solids.solids()[hit->solid].normal(hit->point);
    const double facing = std::max(0.0, normal.dot(towards_sun_));
    const double sky = kAmbient * (0.6 + 0.4 * normal.z());
    const double light = sky + (shaded ? 0 : kSun * facing);
    const Colour colour =
        sim::albedo(world_, *hit, footprint_m) * float(kExposure * light_.gain * light);
    return {colour, 4 * hit->solid + 2 * (normal.z() > 0.1) + shaded};
  }

  bool on_edge(const std::vector<Sample>& samples, int x, int y) const {
    const std::size_t index = std::size_t(y) * camera_.width + x;
    const std::int32_t what = samples[index].what;
    return (x > 0 && samples[index - 1].what != what) ||
           (y > 0 && samples[index - camera_.width].what != what) ||
           (x + 1 < camera_.width && samples[index + 1].what != what) ||
           (y + 1 < camera_.height && samples[index + camera_.width].what != what);
  }

  void develop(const std::vector<Sample>& samples, int x, int y, std::uint8_t* rgb) const {
    Colour colour = samples[std::size_t(y) * camera_.width + x].colour;
    if (on_edge(samples, x, y)) {  // a turned 2 x 2 pattern
      colour.setZero();
      for (const auto& [dx, dy] : {std::pair(0.375, 0.125), std::pair(0.875, 0.375),
                                   std::pair(0.625, 0.875), std::pair(0.125, 0.625)}) {
        colour += 0.25f * sample({x + dx, y + dy}).colour;
      }
    }
    for (int c = 0; c < 3; ++c) rgb[c] = std::uint8_t(toned(colour[c]) + 0.5f);
  }

  float toned(float linear) const {
    const float at = std::clamp(linear, 0.0f, 1.0f) * float(tone_.size() - 1);
    const std::size_t low = std::min(std::size_t(at), tone_.size() - 2);
    return tone_[low] + (at - float(low)) * (tone_[low + 1] - tone_[low]);
  }

  const sim::World& world_;
  const Camera& camera_;
  PixelRays rays_;
  Eigen::Matrix3d enu_from_cam_;
  Eigen::Vector3d centre_;
  Light light_;
  Eigen::Vector3d towards_sun_;
  std::array<float, 4097> tone_;
};

// Sensor noise: a sum of uniform numbers is near enough to normal.
void add_grain(Image& image, std::uint64_t seed) {
  const std::uint32_t salt = std::uint32_t(sim::scramble(seed));
  parallel_for(image.height, 32, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y) {
      std::uint8_t* row = image.row(int(y));
      for (int x = 0; x < image.width * image.channels; ++x) {
        const std::uint32_t h =
            sim::scramble32(std::uint32_t(y) * 0x8da6b343U + std::uint32_t(x) * 0xd8163841U + salt);
        const int sum = int(h & 255) + int(h >> 8 & 255) + int(h >> 16 & 255) + int(h >> 24);
        constexpr double kSumDeviation = 147.8;  // of four bytes
        const double grain = (sum - 510) * (kGrainLevels / kSumDeviation);
        row[x] = std::uint8_t(std::clamp(row[x] + grain + 0.5, 0.0, 255.0));
      }
    }
  });
}

}  // namespace

Image render(const Scene& scene, const Camera& camera, const Rigid3& cam_from_enu,
             const Light& light, double blur_sigma_px, std::uint64_t noise_seed) {
  camera.validate();
  Image image = Shot(scene, camera, cam_from_enu, light).picture();
  if (blur_sigma_px > 0) image = blur(image, blur_sigma_px);
  add_grain(image, noise_seed);
  return image;
}

}  // namespace skyfix
