// A-contrario evidence: Moisan and Stival, A probabilistic criterion to detect rigid point matches
// (IJCV 2004); for poses: Moulon, Monasse and Marlet, AC-RANSAC (ACCV 2012).
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "skyfix/solve/absolute_pose.h"
#include "skyfix/solve/pair_set.h"

namespace skyfix {
namespace {

using solve::PairSet;

constexpr int kSample = 3;             // pairs that fix a pose
constexpr double kSolutions = 4;       // poses from one sample
constexpr double kLeastErrorPx = 0.5;  // the error level believed at best: pixels are not points

double log10_choose(double n, double k) {
  return (std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)) / std::numbers::ln10;
}

// log10 of the chance of at least k successes among n of probability p.
double log10_binomial_tail(double n, double k, double p) {
  if (k <= 0 || p >= 1 || k <= n * p) return 0;
  const double first =
      log10_choose(n, k) + k * std::log10(p) + (n - k) * std::log1p(-p) / std::numbers::ln10;
  double term = 1;  // beyond the mean each term is smaller than the one before
  double sum = 1;
  for (double i = k; i < n && term > 1e-12 * sum; ++i) {
    term *= (n - i) / (i + 1) * p / (1 - p);
    sum += term;
  }
  return std::min(0.0, first + std::log10(sum));
}

// Area over which chance spreads the pixels: where the pairs lie, at most the picture.
double background_area(const PairSet& pairs, const Camera& camera) {
  Eigen::AlignedBox2d box;
  for (const Eigen::Vector2d& pixel : pairs.pixel) box.extend(pixel);
  const double picture = static_cast<double>(camera.width) * camera.height;
  return std::clamp(box.volume(), 1.0, std::max(1.0, picture));
}

// The least number of false alarms over error levels: the k best inliers at the k-th one's error.
double log10_false_alarms(const PairSet& pairs, std::vector<double> errors_px, double area) {
  const double n = static_cast<double>(pairs.group_count);
  if (n <= kSample || errors_px.size() <= kSample) return std::log10(kSolutions);
  // A map point with several pixels has as many chances.
  const double chances = static_cast<double>(pairs.size()) / n;
  const double log10_tests = std::log10(kSolutions * (n - kSample)) + log10_choose(n, kSample);
  double least = std::numeric_limits<double>::infinity();
  std::ranges::sort(errors_px);
  for (std::size_t k = kSample + 1; k <= errors_px.size(); ++k) {
    const double error = std::max(kLeastErrorPx, errors_px[k - 1]);
    const double once = std::min(1.0, std::numbers::pi * error * error / area);
    const double any = -std::expm1(chances * std::log1p(-std::min(once, 1 - 1e-12)));
    const double tail = log10_binomial_tail(n - kSample, static_cast<double>(k) - kSample, any);
    least = std::min(least, log10_tests + tail);
  }
  return least;
}

double coverage_of(std::span<const Eigen::Vector2d> pixels, const Camera& camera) {
  constexpr int kCells = 8;
  std::array<bool, kCells * kCells> holds{};
  for (const Eigen::Vector2d& pixel : pixels) {
    const double x = std::clamp(pixel.x() * kCells / camera.width, 0.0, kCells - 1.0);
    const double y = std::clamp(pixel.y() * kCells / camera.height, 0.0, kCells - 1.0);
    holds[static_cast<int>(y) * kCells + static_cast<int>(x)] = true;
  }
  return static_cast<double>(std::ranges::count(holds, true)) / holds.size();
}

// One chain of the hull (Andrew's monotone chain), by its share in the shoelace sum.
double chain_area(std::span<const Eigen::Vector2d> sorted, bool backward) {
  const auto cross = [](const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
    return a.x() * b.y() - a.y() * b.x();
  };
  std::vector<Eigen::Vector2d> chain;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const Eigen::Vector2d& p = sorted[backward ? sorted.size() - 1 - k : k];
    while (chain.size() >= 2 &&
           cross(chain.back() - chain[chain.size() - 2], p - chain.back()) <= 0) {
      chain.pop_back();
    }
    chain.push_back(p);
  }
  double twice = 0;
  for (std::size_t k = 1; k < chain.size(); ++k) twice += cross(chain[k - 1], chain[k]);
  return twice / 2;
}

double hull_area(std::vector<Eigen::Vector2d> pixels) {
  if (pixels.size() < 3) return 0;
  std::ranges::sort(pixels, [](const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
    return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y();
  });
  return std::abs(chain_area(pixels, false) + chain_area(pixels, true));
}

}  // namespace

PoseEvidence pose_evidence(std::span<const PointPair> pairs, const PoseEstimate& estimate,
                           const PoseOptions& options) {
  options.validate();
  PoseEvidence out;
  const PairSet usable = solve::usable_pairs(pairs);
  if (!estimate.found || estimate.inlier.size() != pairs.size() || usable.group_count == 0) {
    return out;
  }
  const solve::View view = solve::view_from_pose(estimate.cam_from_map);
  std::vector<Eigen::Vector2d> pixels;
  std::vector<double> errors_px;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    if (!estimate.inlier[usable.source[i]]) continue;
    pixels.push_back(usable.pixel[i]);
    const double squared =
        squared_error_px(estimate.camera, view, usable.point[i], usable.pixel[i]);
    // Estimates of a window have points of their own: no error here exceeds the threshold.
    errors_px.push_back(std::min(std::sqrt(squared), options.max_error_px));
  }
  out.inlier_ratio = static_cast<double>(pixels.size()) / usable.group_count;
  out.coverage = coverage_of(pixels, estimate.camera);
  const double picture = static_cast<double>(estimate.camera.width) * estimate.camera.height;
  out.hull_fraction = std::min(1.0, hull_area(std::move(pixels)) / picture);
  out.log10_false_alarms =
      log10_false_alarms(usable, std::move(errors_px), background_area(usable, estimate.camera));
  return out;
}

}  // namespace skyfix
