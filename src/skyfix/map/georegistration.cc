#include "skyfix/map/georegistration.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <random>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

using Points = std::vector<Eigen::Vector3d>;

// Work of the search over minimal samples, in residuals; bounds of the number of samples.
constexpr std::size_t kSearchResiduals = 20'000'000;
constexpr std::size_t kLeastSamples = 300;
constexpr std::size_t kMostSamples = 4000;
constexpr int kMostRefinements = 20;

// Positions are mostly off horizontally, so residual lengths go as Rayleigh: its median in sigmas.
constexpr double kRayleighMedian = 1.1774;
constexpr double kKeptSigmas = 3;
// A photo this near is never rejected: positions without RTK scatter so much, and not
// independently. A tighter choice follows chance: nine of the thirteen Brighton photos agree to 0.2
// m, and a fit to them alone is over a metre off the other four.
constexpr double kAlwaysKept_m = 2;
constexpr double kLeastSigma_m = 0.01;  // RTK is no better
// A line: narrower than this part of its length, or turn about it known no better than this.
constexpr double kLineWidthRatio = 0.01;
constexpr double kLargestTurnSigma_deg = 5;
// No consensus: the fit leaves more than this part of the positions' own spread.
constexpr double kLargestResidualToSpread = 0.35;

[[noreturn]] void fail(const std::string& message) {
  throw Error(Reason::bad_georegistration, message);
}

std::string metres(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f m", value);
  return text;
}

Points chosen(const Points& all, const std::vector<std::size_t>& indices) {
  Points some;
  some.reserve(indices.size());
  for (const std::size_t i : indices) some.push_back(all[i]);
  return some;
}

// Standard deviations along the principal axes, largest first.
Eigen::Vector3d spread_of(const Points& points) {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (const auto& point : points) mean += point;
  mean /= static_cast<double>(points.size());
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  for (const auto& point : points) covariance += (point - mean) * (point - mean).transpose();
  covariance /= static_cast<double>(points.size());
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(covariance);
  return solver.eigenvalues().cwiseMax(0).cwiseSqrt().reverse();
}

void require_no_line(const Points& points, const std::string& what) {
  const Eigen::Vector3d spread = spread_of(points);
  if (spread[1] > kLineWidthRatio * spread[0]) return;
  fail(what +
       " lie on a line (or at one place), so the turn about it is not determined. Use photos "
       "from more than one flight line, or give the origin of a model that is in metres already");
}

std::vector<double> residuals(const Similarity3& enu_from_map, const Points& map,
                              const Points& enu) {
  std::vector<double> lengths(map.size());
  for (std::size_t i = 0; i < map.size(); ++i) lengths[i] = (enu_from_map * map[i] - enu[i]).norm();
  return lengths;
}

// The residual that more than half of all stay within.
double majority_residual(std::vector<double> lengths) {
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

std::vector<std::size_t> within(const std::vector<double>& lengths, double limit) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= limit) indices.push_back(i);
  }
  return indices;
}

using Triple = std::array<std::size_t, 3>;

// All triples when they are few, else a fixed pseudo-random choice (the generator's sequence is
// prescribed by the C++ standard, so every machine draws the same).
std::vector<Triple> minimal_samples(std::size_t count) {
  const std::size_t most = std::clamp(kSearchResiduals / count, kLeastSamples, kMostSamples);
  std::vector<Triple> triples;
  if (count < 200 && count * (count - 1) * (count - 2) / 6 <= most) {
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        for (std::size_t c = b + 1; c < count; ++c) triples.push_back({a, b, c});
      }
    }
    return triples;
  }
  std::mt19937_64 generator(count);
  while (triples.size() < most) {
    const Triple triple{generator() % count, generator() % count, generator() % count};
    if (triple[0] != triple[1] && triple[1] != triple[2] && triple[0] != triple[2]) {
      triples.push_back(triple);
    }
  }
  return triples;
}

// Least median of residuals over minimal samples (Rousseeuw 1984): needs no scale beforehand.
Similarity3 search(const Points& map, const Points& enu) {
  Similarity3 best;
  double best_residual = std::numeric_limits<double>::infinity();
  for (const Triple& triple : minimal_samples(map.size())) {
    const std::array<Eigen::Vector3d, 3> a{map[triple[0]], map[triple[1]], map[triple[2]]};
    const std::array<Eigen::Vector3d, 3> b{enu[triple[0]], enu[triple[1]], enu[triple[2]]};
    const Similarity3 candidate = fit_similarity(a, b);
    if (!(candidate.scale > 0)) continue;
    const double residual = majority_residual(residuals(candidate, map, enu));
    if (residual < best_residual) {
      best_residual = residual;
      best = candidate;
    }
  }
  if (!std::isfinite(best_residual)) fail("the photos' positions determine no similarity");
  return best;
}

// With the correction for few residuals of Rousseeuw and Leroy (1987); each photo gives three
// equations for the seven unknowns.
double robust_sigma(const std::vector<double>& lengths) {
  const double freedom = std::max(static_cast<double>(lengths.size()) - 7.0 / 3, 1.0);
  const double sigma = (1 + 5 / freedom) * majority_residual(lengths) / kRayleighMedian;
  return std::max(sigma, kLeastSigma_m);
}

struct Refined {
  Similarity3 enu_from_map;
  std::vector<std::size_t> kept;
  double sigma_m = 0;
};

// Least squares over the pairs within three robust sigmas, until the choice stays.
Refined refine(Similarity3 start, const Points& map, const Points& enu) {
  Refined result{start, {}, 0};
  for (int round = 0; round < kMostRefinements; ++round) {
    const std::vector<double> lengths = residuals(result.enu_from_map, map, enu);
    result.sigma_m = robust_sigma(lengths);
    std::vector<std::size_t> kept =
        within(lengths, std::max(kKeptSigmas * result.sigma_m, kAlwaysKept_m));
    if (kept == result.kept) break;
    const Similarity3 fitted = fit_similarity(chosen(map, kept), chosen(enu, kept));
    if (!(fitted.scale > 0)) break;
    result.enu_from_map = fitted;
    result.kept = std::move(kept);
  }
  return result;
}

void require_sound(const Refined& fit, const Points& map, const Points& enu) {
  const Points kept_map = chosen(map, fit.kept);
  require_no_line(kept_map, "the photos' centres");
  const double spread = spread_of(chosen(enu, fit.kept)).norm();
  const double majority = majority_residual(residuals(fit.enu_from_map, map, enu));
  if (2 * fit.kept.size() <= map.size() || majority > kLargestResidualToSpread * spread) {
    fail("no similarity lays more than half of the " + std::to_string(map.size()) +
         " photos on their positions: half are off by " + metres(majority) +
         " or more, where the "
         "positions spread over " +
         metres(spread) + ". Are photos, names and positions mixed up?");
  }
  // Turn about the long axis is held by the shorter one alone.
  const double width_m = fit.enu_from_map.scale * spread_of(kept_map)[1];
  const double turn_sigma = fit.sigma_m / (width_m * std::sqrt(double(fit.kept.size())));
  if (turn_sigma * 180 / std::numbers::pi > kLargestTurnSigma_deg) {
    fail("the photos lie almost on a line: " + metres(width_m) +
         " to its sides, with positions good "
         "to " +
         metres(fit.sigma_m) +
         ", so the turn about it is not determined. Use photos from "
         "more than one flight line, or give the origin of a model that is in metres already");
  }
}

void state_quality(Georegistration& result, const Refined& fit, const Points& map,
                   const Points& enu) {
  double horizontal = 0;
  double vertical = 0;
  for (const std::size_t i : fit.kept) {
    const Eigen::Vector3d off = fit.enu_from_map * map[i] - enu[i];
    horizontal += off.head<2>().squaredNorm();
    vertical += off.z() * off.z();
    result.max_residual_m = std::max(result.max_residual_m, off.norm());
  }
  const double count = static_cast<double>(fit.kept.size());
  result.rms_horizontal_m = std::sqrt(horizontal / count);
  result.rms_vertical_m = std::sqrt(vertical / count);
  result.photos_used = static_cast<int>(fit.kept.size());
  result.photos_rejected = static_cast<int>(map.size() - fit.kept.size());
}

Wgs84 origin_near(const Wgs84& position) {
  const auto round = [](double degrees) { return std::round(degrees * 1e4) / 1e4; };
  return {round(position.latitude_deg), round(position.longitude_deg), 0};
}

void require_usable(const std::vector<GpsPair>& pairs) {
  if (pairs.size() < 3) {
    fail("only " + std::to_string(pairs.size()) +
         " photos of the model have a position; three are "
         "needed. Give the photos with their EXIF, or the origin of a model that is in metres "
         "already");
  }
  for (const GpsPair& pair : pairs) {
    if (!pair.position.valid()) {
      fail("the position of " + pair.name + " is no latitude and longitude in degrees");
    }
    if (!pair.centre_in_map.allFinite()) fail("the pose of " + pair.name + " is not finite");
  }
}

}  // namespace

Georegistration fit_georegistration(const std::vector<GpsPair>& pairs, AltitudeDatum datum) {
  require_usable(pairs);
  Georegistration result;
  result.kind = Georegistration::Kind::gps_fit;
  result.origin = origin_near(pairs.front().position);
  result.datum = datum;
  const EnuFrame frame(result.origin);
  Points map;
  Points enu;
  for (const GpsPair& pair : pairs) {
    map.push_back(pair.centre_in_map);
    enu.push_back(frame.enu_from_wgs84(pair.position));
  }
  require_no_line(map, "the photos' centres");
  require_no_line(enu, "the photos' positions");
  const Refined fit = refine(search(map, enu), map, enu);
  require_sound(fit, map, enu);
  result.enu_from_map = fit.enu_from_map;
  state_quality(result, fit, map, enu);
  return result;
}

Georegistration georegistration_at_origin(const Wgs84& origin, AltitudeDatum datum) {
  if (!origin.valid()) {
    fail("the origin is no latitude and longitude in degrees (latitude first)");
  }
  Georegistration result;
  result.kind = Georegistration::Kind::given_origin;
  result.origin = origin;
  result.datum = datum;
  return result;
}

}  // namespace skyfix
