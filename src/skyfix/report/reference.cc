#include "skyfix/report/reference.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/text.h"
#include "skyfix/report/json_fields.h"

namespace skyfix {
namespace {

constexpr double kMaxCoordinate = 1e9;
// The format's promise where the poses that made the path are not all in the file.
constexpr double kPromisedPathLength = 100;

Rigid3 read_pose(const JsonFields& entry) {
  const JsonFields fields = entry.object("world_to_camera");
  const std::vector<double> q = fields.numbers("quaternion_wxyz", 4);
  Rigid3 pose;
  pose.rotation = Eigen::Quaterniond(q[0], q[1], q[2], q[3]);
  if (std::abs(pose.rotation.norm() - 1) > 1e-3) {
    fields.fail("quaternion_wxyz", "is not a unit quaternion");
  }
  pose.rotation.normalize();
  pose.translation = fields.vector3("translation");
  if (pose.translation.norm() > kMaxCoordinate) fields.fail("translation", "is out of all bounds");
  return pose;
}

// A file whose centres and poses disagree was made with another convention (camera to world, w
// last): better refused than scored.
void check_centre(const JsonFields& entry, const Rigid3& pose) {
  for (const char* key : {"centre", "centre_enu_m"}) {
    if (!entry.has(key)) continue;
    const double off = (entry.vector3(key) - pose.centre()).norm();
    if (off > 1e-3 * (1 + pose.centre().norm())) {
      entry.fail(key,
                 fmt::format("is {:.6g} away from where world_to_camera puts the camera", off));
    }
  }
}

std::vector<ReferencePose> read_poses(const JsonFields& entries) {
  std::vector<ReferencePose> poses;
  for (const auto& [name, value] : entries.value().items()) {
    const JsonFields entry = entries.object(name);
    const Rigid3 pose = read_pose(entry);
    check_centre(entry, pose);
    poses.push_back({name, pose});
  }
  std::sort(poses.begin(), poses.end(),
            [](const auto& a, const auto& b) { return natural_less(a.name, b.name); });
  return poses;
}

bool read_metric(const JsonFields& frame) {
  const std::string kind = frame.text("kind");
  if (kind.starts_with("local east-north-up, metres")) return true;
  if (kind.starts_with("arbitrary")) return false;
  frame.fail("kind", "must begin with \"local east-north-up, metres\" or \"arbitrary\", not \"" +
                         kind + "\"");
}

// The number that ends a name before its suffix: "sub/frame_000208.jpg" is 208.
std::optional<long long> frame_number(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash)) {
    name = name.substr(0, dot);
  }
  const std::size_t before = name.find_last_not_of("0123456789");
  return parse_integer(name.substr(before == std::string_view::npos ? 0 : before + 1));
}

// Number differences between neighbours; empty where a name has no number.
std::vector<long long> number_steps(const std::vector<ReferencePose>& poses) {
  std::vector<long long> steps;
  for (std::size_t i = 1; i < poses.size(); ++i) {
    const auto from = frame_number(poses[i - 1].name);
    const auto to = frame_number(poses[i].name);
    if (!from || !to) return {};
    steps.push_back(*to - *from);
  }
  return steps;
}

long long commonest(const std::vector<long long>& values) {
  std::map<long long, std::size_t> count;
  for (const long long value : values) ++count[value];
  return std::max_element(count.begin(), count.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// All frames of the file that have poses: those of the map, where it lists any, and the queries.
void find_path_length(const JsonFields& top, Reference& reference) {
  std::vector<ReferencePose> poses = reference.queries;
  bool complete = true;
  if (top.has("map")) {
    const JsonFields map = top.object("map");
    complete = map.has("frames");
    if (complete) {
      const std::vector<ReferencePose> of_map = read_poses(map.object("frames"));
      poses.insert(poses.end(), of_map.begin(), of_map.end());
    }
  }
  const double length = complete ? camera_path_length(poses) : 0;
  if (length > 0) {
    reference.path_length = length;
    reference.path_length_source =
        fmt::format("the {} listed poses in order of their names, gaps not counted", poses.size());
  } else {
    reference.path_length = kPromisedPathLength;
    reference.path_length_source = "the format's promise: the poses of the path are not all listed";
  }
}

}  // namespace

double camera_path_length(std::vector<ReferencePose> poses) {
  if (poses.size() < 2) return 0;
  std::sort(poses.begin(), poses.end(),
            [](const auto& a, const auto& b) { return natural_less(a.name, b.name); });
  const std::vector<long long> steps = number_steps(poses);
  const long long usual = steps.empty() ? 0 : commonest(steps);
  double length = 0;
  for (std::size_t i = 1; i < poses.size(); ++i) {
    if (!steps.empty() && steps[i - 1] > usual) continue;
    length += (poses[i].cam_from_world.centre() - poses[i - 1].cam_from_world.centre()).norm();
  }
  return length;
}

Reference read_reference(const std::filesystem::path& file) {
  const JsonSource source{Reason::bad_reference, file};
  const std::string text = read_file(file);
  const Json json = parse_json(text, source, "reference");
  const JsonFields top(json, source, "reference");
  if (top.text("format") != "skyfix-reference") {
    top.fail("format", "must be \"skyfix-reference\"");
  }
  if (top.integer("version", 0, 1 << 30) != 1) top.fail("version", "must be 1");
  Reference reference;
  reference.file = file;
  reference.sha256 = sha256_hex(text);
  reference.metric = read_metric(top.object("frame"));
  reference.frame_kind = top.object("frame").text("kind");
  if (top.has("dataset")) reference.dataset = top.text("dataset");
  if (top.has("accuracy")) reference.accuracy = top.text("accuracy");
  reference.queries = read_poses(top.object("queries"));
  if (reference.queries.empty()) top.fail("queries", "is empty: there is nothing to judge by");
  if (!reference.metric) find_path_length(top, reference);
  return reference;
}

}  // namespace skyfix
