#include "skyfix/localize/verdict.h"

#include <spdlog/fmt/fmt.h>

namespace skyfix {
namespace {

void require_range(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw Error(Reason::bad_option,
                fmt::format("{} is {}; it must lie between {} and {}", name, value, low, high));
  }
}

Verdict refuse(Reason reason, std::string text) { return {reason, std::move(text)}; }

}  // namespace

void VerdictOptions::validate() const {
  require_range("min_inliers", min_inliers, 4, 100000);
  require_range("max_log10_false_alarms", max_log10_false_alarms, -10000, 0);
  require_range("min_coverage", min_coverage, 0, 1);
  require_range("min_support", min_support, 0, 1);
  require_range("max_behind_share", max_behind_share, 0, 1);
  require_range("max_distance_ratio", max_distance_ratio, 1, 1e6);
  require_range("max_alternative_ratio", max_alternative_ratio, 0, 1);
}

Verdict judge(const VerdictInput& evidence, const VerdictOptions& options) {
  if (!evidence.found) {
    return refuse(Reason::no_pose_found, "no pose explains enough of the matches");
  }
  if (evidence.inliers < options.min_inliers) {
    return refuse(Reason::too_few_inliers, fmt::format("{} inliers, at least {} are asked for",
                                                       evidence.inliers, options.min_inliers));
  }
  if (evidence.log10_false_alarms > options.max_log10_false_alarms) {
    return refuse(Reason::too_few_inliers,
                  fmt::format("the inliers may be chance: 10^{:.1f} such poses are expected among "
                              "random matches, at most 10^{:.1f} are accepted",
                              evidence.log10_false_alarms, options.max_log10_false_alarms));
  }
  if (evidence.coverage < options.min_coverage) {
    return refuse(
        Reason::low_coverage,
        fmt::format("the inliers cover {:.0f} % of the picture, at least {:.0f} % is asked for",
                    100 * evidence.coverage, 100 * options.min_coverage));
  }
  if (evidence.support < options.min_support) {
    return refuse(
        Reason::too_few_inliers,
        fmt::format("of {} map points that this pose should show, {:.0f} % are there; at "
                    "least {:.0f} % is asked for",
                    evidence.expected, 100 * evidence.support, 100 * options.min_support));
  }
  if (evidence.behind_share > options.max_behind_share) {
    return refuse(Reason::implausible_pose,
                  fmt::format("the pose sees {:.0f} % of its points from the far side: is the "
                              "picture mirrored?",
                              100 * evidence.behind_share));
  }
  if (evidence.distance_ratio > options.max_distance_ratio ||
      evidence.distance_ratio * options.max_distance_ratio < 1) {
    return refuse(Reason::implausible_pose,
                  fmt::format("the camera would be {:.2g} times as far from the scene as the map's "
                              "photos; check its focal length and principal point",
                              evidence.distance_ratio));
  }
  if (evidence.alternative_inliers > options.max_alternative_ratio * evidence.first_inliers) {
    return refuse(Reason::ambiguous_place,
                  fmt::format("another pose explains {} matches where this one explains {}",
                              evidence.alternative_inliers, evidence.first_inliers));
  }
  return {};
}

}  // namespace skyfix
