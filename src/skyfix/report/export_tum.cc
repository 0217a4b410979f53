#include <spdlog/fmt/fmt.h>

#include "skyfix/report/export.h"
#include "skyfix/report/tum.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

std::int64_t time_of(const Record& record, TumTime time) {
  if (time == TumTime::index) return record.fix.index * 1'000'000'000;
  if (record.time_ns) return *record.time_ns;
  throw Error(Reason::bad_option,
              "TUM needs times, and " + utf8_text(record.fix.name) +
                  " has none: ask for the frames' index as time (--tum-time-is-index)");
}

// Camera to world. In ENU the orientation comes from the gimbal angles, which hold the whole
// rotation; in the map's frame from the pose.
Rigid3 world_from_cam(const FixPose& pose, bool georegistered) {
  if (!georegistered) return pose.cam_from_world.inverse();
  return {cam_from_enu(*pose.orientation_ypr_ned).conjugate(), *pose.position_enu};
}

}  // namespace

std::string export_tum(const std::vector<Record>& records, TumTime time) {
  bool georegistered = true;
  for (const Record& record : records) {
    const auto& pose = record.fix.pose;
    if (pose && !(pose->position_enu && pose->orientation_ypr_ned)) georegistered = false;
  }
  std::string text = fmt::format(
      "# time x y z qx qy qz qw: camera to world, camera x right, y down, z forward\n"
      "# world: {}\n# time: {}\n",
      georegistered ? "east north up, metres" : "the map model's own frame and unit",
      time == TumTime::index ? "the frame's index, not seconds" : "seconds of exposure");
  std::optional<std::int64_t> before;
  for (const Record& record : records) {
    if (!record.fix.pose) continue;
    const std::int64_t now = time_of(record, time);
    if (before && now <= *before) {
      throw Error(Reason::bad_option, "the time of " + utf8_text(record.fix.name) +
                                          " is not after the time before it: ask for the frames' "
                                          "index as time (--tum-time-is-index)");
    }
    before = now;
    text += tum_line(now, world_from_cam(*record.fix.pose, georegistered));
  }
  return text;
}

}  // namespace skyfix
