#include "skyfix/simulate/blobs.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <optional>

namespace skyfix::sim {
namespace {

using Plane = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int kLevels = 6;  // Gaussians in an octave: extrema at three scales, no gap to the next
constexpr double kFirstSigmaPx = 0.8;    // of an octave, in its own pixels
constexpr double kSigmaStep = 1.2599;    // the cube root of 2
constexpr double kSensorSigmaPx = 0.5;   // what a picture has already
constexpr float kWeakestLevels = 1.5f;   // response worth having, grey levels
constexpr float kLargestEdgeRatio = 10;  // of principal curvatures
constexpr int kOctaves = 2;
constexpr int kBorderPx = 6;

std::vector<float> gaussian_kernel(double sigma) {
  const int radius = std::max(1, int(std::ceil(3 * sigma)));
  std::vector<float> kernel(2 * radius + 1);
  double sum = 0;
  for (int i = -radius; i <= radius; ++i) sum += std::exp(-0.5 * i * i / (sigma * sigma));
  for (int i = -radius; i <= radius; ++i) {
    kernel[i + radius] = float(std::exp(-0.5 * i * i / (sigma * sigma)) / sum);
  }
  return kernel;
}

// Separable; the border is repeated.
Plane blurred(const Plane& in, double sigma) {
  const std::vector<float> kernel = gaussian_kernel(sigma);
  const int radius = int(kernel.size()) / 2;
  const int rows = int(in.rows());
  const int columns = int(in.cols());
  Plane across = Plane::Zero(rows, columns);
  Eigen::Array<float, 1, Eigen::Dynamic> padded(columns + 2 * radius);
  for (int y = 0; y < rows; ++y) {
    padded.head(radius).setConstant(in(y, 0));
    padded.segment(radius, columns) = in.row(y);
    padded.tail(radius).setConstant(in(y, columns - 1));
    for (int i = 0; i < int(kernel.size()); ++i)
      across.row(y) += kernel[i] * padded.segment(i, columns);
  }
  Plane out = Plane::Zero(rows, columns);
  for (int y = 0; y < rows; ++y) {
    for (int i = -radius; i <= radius; ++i) {
      out.row(y) += kernel[i + radius] * across.row(std::clamp(y + i, 0, rows - 1));
    }
  }
  return out;
}

Plane halved(const Plane& in) {
  Plane out(in.rows() / 2, in.cols() / 2);
  for (int y = 0; y < out.rows(); ++y) {
    for (int x = 0; x < out.cols(); ++x) {
      out(y, x) = 0.25f * (in(2 * y, 2 * x) + in(2 * y, 2 * x + 1) + in(2 * y + 1, 2 * x) +
                           in(2 * y + 1, 2 * x + 1));
    }
  }
  return out;
}

using Differences = std::array<Plane, kLevels - 1>;

Differences differences(const Plane& picture, double sigma_before) {
  Differences out;
  Plane level =
      blurred(picture, std::sqrt(kFirstSigmaPx * kFirstSigmaPx - sigma_before * sigma_before));
  double sigma = kFirstSigmaPx;
  for (Plane& difference : out) {
    Plane next = blurred(level, sigma * std::sqrt(kSigmaStep * kSigmaStep - 1));
    difference = next - level;
    level = std::move(next);
    sigma *= kSigmaStep;
  }
  return out;
}

// Larger (or smaller) than its 26 neighbours in place and scale.
bool is_extremum(const Differences& dog, std::size_t layer, int y, int x) {
  const float value = dog[layer](y, x);
  for (std::size_t l = layer - 1; l <= layer + 1; ++l) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        if (l == layer && dy == 0 && dx == 0) continue;
        const float other = dog[l](y + dy, x + dx);
        if (value > 0 ? other >= value : other <= value) return false;
      }
    }
  }
  return true;
}

// Offset of the peak from (x, y) by a quadratic fit in the plane; nullopt on edges.
std::optional<Eigen::Vector2d> peak_offset(const Plane& d, int y, int x) {
  const float gx = 0.5f * (d(y, x + 1) - d(y, x - 1));
  const float gy = 0.5f * (d(y + 1, x) - d(y - 1, x));
  const float xx = d(y, x + 1) + d(y, x - 1) - 2 * d(y, x);
  const float yy = d(y + 1, x) + d(y - 1, x) - 2 * d(y, x);
  const float xy = 0.25f * (d(y + 1, x + 1) - d(y + 1, x - 1) - d(y - 1, x + 1) + d(y - 1, x - 1));
  const float determinant = xx * yy - xy * xy;
  const float trace = xx + yy;
  constexpr float r = kLargestEdgeRatio;
  if (determinant <= 0 || trace * trace * r >= (r + 1) * (r + 1) * determinant) return std::nullopt;
  const Eigen::Vector2d offset((xy * gy - yy * gx) / determinant,
                               (xy * gx - xx * gy) / determinant);
  if (offset.cwiseAbs().maxCoeff() > 1) return std::nullopt;
  return offset;
}

void collect(const Differences& dog, double pixel_size, std::vector<Blob>& blobs) {
  for (std::size_t layer = 1; layer + 1 < dog.size(); ++layer) {
    const Plane& d = dog[layer];
    for (int y = kBorderPx; y < d.rows() - kBorderPx; ++y) {
      for (int x = kBorderPx; x < d.cols() - kBorderPx; ++x) {
        if (std::abs(d(y, x)) < kWeakestLevels || !is_extremum(dog, layer, y, x)) continue;
        const std::optional<Eigen::Vector2d> offset = peak_offset(d, y, x);
        if (!offset) continue;
        const Eigen::Vector2d pixel = Eigen::Vector2d(x + 0.5, y + 0.5) + *offset;
        blobs.push_back({pixel * pixel_size, std::abs(d(y, x))});
      }
    }
  }
}

}  // namespace

std::vector<Blob> detect_blobs(const Image& grey, std::size_t limit) {
  assert(grey.channels == 1);
  Plane picture =
      Eigen::Map<const Eigen::Array<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
          grey.pixels.data(), grey.height, grey.width)
          .cast<float>();
  std::vector<Blob> blobs;
  double pixel_size = 1;
  double sigma = kSensorSigmaPx;
  for (int octave = 0; octave < kOctaves && picture.size() > 0; ++octave) {
    collect(differences(picture, sigma), pixel_size, blobs);
    picture = halved(picture);
    pixel_size *= 2;
    sigma /= 2;
  }
  std::stable_sort(blobs.begin(), blobs.end(),
                   [](const Blob& a, const Blob& b) { return a.strength > b.strength; });
  if (blobs.size() > limit) blobs.resize(limit);
  return blobs;
}

}  // namespace skyfix::sim
