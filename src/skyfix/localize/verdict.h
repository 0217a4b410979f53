// Whether a pose may be called a fix. A right pose had as few as 18 inliers and wrong ones up to
// 20, so no count decides: chance level, coverage, the second-best place and the support of the
// points that ought to be visible do.
#pragma once

#include <optional>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/solve/absolute_pose.h"

namespace skyfix {

struct VerdictOptions {
  int min_inliers = 12;                // distinct map points after refinement
  double max_log10_false_alarms = -6;  // of the pose found from the first matches
  double min_coverage = 0.08;          // share of an 8x8 grid that holds an inlier
  double min_support = 0.12;           // of the expected points, share found where expected
  double max_alternative_ratio = 0.7;  // second-best inliers / best inliers
  double max_behind_share = 0.3;       // of the inliers, seen from the far side of the scene
  double max_distance_ratio = 10;      // nearer or farther than the map's photos by this factor
  void validate() const;               // throws Error(bad_option)
};

// The evidence for one pose.
struct VerdictInput {
  bool found = false;
  int inliers = 0;
  double log10_false_alarms = 0;
  double coverage = 0;
  // Guided search: of the map points that should be seen, the share whose descriptor was found
  // within the inlier distance of its projection; `expected` = how many should be seen.
  int expected = 0;
  double support = 0;
  // Of the inliers, the share that this pose sees from the other side than the map photo that
  // described them: a mirrored picture fits an underground camera that looks up.
  double behind_share = 0;
  // Median distance from the camera to its inliers / that of the map photos which described them.
  double distance_ratio = 1;
  // Inliers of the strongest clearly different pose, over the same matches, and of this pose there.
  int alternative_inliers = 0;
  int first_inliers = 0;
};

struct Verdict {
  std::optional<Reason> refusal;  // absent: ok
  std::string text;               // one sentence with the figures that decided
};

Verdict judge(const VerdictInput& evidence, const VerdictOptions& options);

}  // namespace skyfix
