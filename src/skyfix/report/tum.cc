#include "skyfix/report/tum.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <optional>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"

namespace skyfix {
namespace {

std::string seconds(std::int64_t ns) {
  const bool negative = ns < 0;
  const auto size = negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:09}", negative ? "-" : "", size / 1'000'000'000, size % 1'000'000'000);
}

// nullopt: a comment or nothing.
std::optional<TumPose> parse_line(std::string_view line, const std::string& where,
                                  const std::filesystem::path& file) {
  line = trim(line);
  if (line.empty() || line.front() == '#') return std::nullopt;
  const auto refuse = [&](const std::string& what) {
    throw Error(Reason::bad_reference, where + ": " + what, file);
  };
  std::vector<double> values;
  for (const std::string_view word : split_blanks(line)) {
    const auto value = parse_double(word);
    if (!value) refuse("\"" + std::string(word.substr(0, 40)) + "\" is not a finite number");
    values.push_back(*value);
  }
  if (values.size() != 8) {
    refuse("a TUM line has 8 numbers (time x y z qx qy qz qw), this one " +
           std::to_string(values.size()));
  }
  TumPose pose;
  pose.time_s = values[0];
  pose.world_from_cam.translation = {values[1], values[2], values[3]};
  Eigen::Quaterniond q(values[7], values[4], values[5], values[6]);
  if (!(std::abs(q.norm() - 1) <= 1e-3)) refuse("qx qy qz qw is not a unit quaternion");
  pose.world_from_cam.rotation = q.normalized();
  return pose;
}

}  // namespace

std::string tum_line(std::int64_t time_ns, const Rigid3& world_from_cam) {
  const auto& p = world_from_cam.translation;
  const auto& q = world_from_cam.rotation;
  return fmt::format("{} {} {} {} {} {} {} {}\n", seconds(time_ns), p.x(), p.y(), p.z(), q.x(),
                     q.y(), q.z(), q.w());
}

std::vector<TumPose> read_tum(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  std::string_view text = content;
  std::vector<TumPose> poses;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string where = "line " + std::to_string(number);
    if (const auto pose = parse_line(text.substr(0, end), where, file)) {
      if (!poses.empty() && pose->time_s <= poses.back().time_s) {
        throw Error(Reason::bad_reference, where + ": times must grow", file);
      }
      poses.push_back(*pose);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (poses.empty()) {
    throw Error(Reason::bad_reference, "the file holds no pose (TUM: time x y z qx qy qz qw)",
                file);
  }
  return poses;
}

}  // namespace skyfix
