#include <cmath>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/solve/absolute_pose.h"

namespace skyfix {
namespace {

void require(bool fine, const char* name, double value, const char* allowed) {
  if (fine) return;
  throw Error(Reason::bad_option, std::string("the pose option ") + name + " is " +
                                      std::to_string(value) + "; it must be " + allowed);
}

}  // namespace

void PoseOptions::validate() const {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  require(positive(max_error_px), "max_error_px", max_error_px,
          "positive (pixels; usual: 2 to 12)");
  require(positive(refine_scale_px), "refine_scale_px", refine_scale_px,
          "positive (sigmas; usual: 1 to 3)");
  require(max_iterations >= 1, "max_iterations", max_iterations, "at least 1 (usual: 20000)");
  require(confidence > 0 && confidence < 1, "confidence", confidence,
          "between 0 and 1, exclusive (usual: 0.9999)");
  require(min_inliers >= 4, "min_inliers", min_inliers,
          "at least 4 (three pairs fit some pose always)");
}

}  // namespace skyfix
