// TUM trajectories: "time x y z qx qy qz qw", camera (or body) to world, time in seconds, '#' for
// comments (evo and the TUM RGB-D benchmark read them).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "skyfix/geo/rigid3.h"

namespace skyfix {

// One line with its end. Nanoseconds are kept: tools associate by time.
std::string tum_line(std::int64_t time_ns, const Rigid3& world_from_cam);

struct TumPose {
  double time_s = 0;
  Rigid3 world_from_cam;
};

// Blanks between numbers may be several; empty lines and comments are passed over. Throws
// Error(unreadable_file), Error(bad_reference) naming the line: not eight finite numbers, a
// quaternion that is not a unit's (1e-3), times that do not grow, no pose at all.
std::vector<TumPose> read_tum(const std::filesystem::path& file);

}  // namespace skyfix
