#include "skyfix/report/trajectory.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/map/colmap_model.h"
#include "skyfix/report/name_matching.h"
#include "skyfix/report/reference.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/stream_run.h"
#include "skyfix/report/tum.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

double time_of(const std::optional<std::int64_t>& time_ns, std::int64_t index, bool by_index) {
  return by_index || !time_ns ? static_cast<double>(index) : static_cast<double>(*time_ns) / 1e9;
}

void read_reconstruction(const fs::path& folder, Trajectory& path) {
  path.kind = TrajectoryKind::reconstruction;
  path.unit = "arbitrary";
  std::optional<bool> by_index;
  for (const StreamRecord& record : read_stream_run(folder).records) {
    if (!record.view) continue;
    if (!by_index) by_index = !record.time_ns;
    path.poses.push_back({record.name, time_of(record.time_ns, record.index, *by_index),
                          record.view->view.cam_from_world.inverse()});
  }
}

void read_localization(const fs::path& folder, Trajectory& path) {
  path.kind = TrajectoryKind::localization;
  const RunContents run = read_run(folder);
  path.unit = run.manifest.value("about", Json::object()).value("units", "the map's");
  for (const Record& record : run.records) {
    if (!record.fix.pose) continue;
    path.poses.push_back({record.fix.name, time_of(record.time_ns, record.fix.index, false),
                          record.fix.pose->cam_from_world.inverse()});
  }
}

void read_colmap_path(const fs::path& folder, Trajectory& path) {
  path.kind = TrajectoryKind::colmap;
  path.unit = "as in the model";
  ColmapModel model = read_colmap(find_colmap_model(folder));
  std::sort(model.images.begin(), model.images.end(),
            [](const auto& a, const auto& b) { return natural_less(a.name, b.name); });
  for (const ColmapImage& image : model.images) {
    path.poses.push_back({image.name, {}, image.cam_from_world.inverse()});
  }
}

void read_reference_path(const fs::path& file, Trajectory& path) {
  path.kind = TrajectoryKind::reference;
  const Reference reference = read_reference(file);
  path.unit = reference.metric ? "metres" : "as in the file";
  for (const ReferencePose& pose : reference.queries) {
    path.poses.push_back({pose.name, {}, pose.cam_from_world.inverse()});
  }
}

void read_tum_path(const fs::path& file, Trajectory& path) {
  path.kind = TrajectoryKind::tum;
  path.unit = "as in the file";
  for (const TumPose& pose : read_tum(file)) {
    path.poses.push_back({"", pose.time_s, pose.world_from_cam});
  }
}

std::vector<TrajectoryPair> by_name(const Trajectory& estimate, const Trajectory& reference) {
  const auto names = [](const Trajectory& path) {
    std::vector<std::string> list;
    for (const TrajectoryPose& pose : path.poses) list.push_back(pose.name);
    return list;
  };
  const NameMatching matching = match_names(names(estimate), names(reference));
  std::vector<TrajectoryPair> pairs;
  for (std::size_t i = 0; i < matching.b_of_a.size(); ++i) {
    if (matching.b_of_a[i]) pairs.push_back({i, *matching.b_of_a[i]});
  }
  return pairs;
}

std::size_t nearest_in(const std::vector<double>& times, double time) {
  const auto after = std::lower_bound(times.begin(), times.end(), time);
  if (after == times.begin()) return 0;
  if (after == times.end()) return times.size() - 1;
  const auto index = static_cast<std::size_t>(after - times.begin());
  return time - times[index - 1] <= times[index] - time ? index - 1 : index;
}

std::vector<double> times_of(const Trajectory& path, double offset) {
  std::vector<double> times;
  for (const TrajectoryPose& pose : path.poses) times.push_back(*pose.time_s + offset);
  return times;
}

std::vector<TrajectoryPair> by_time(const Trajectory& estimate, const Trajectory& reference,
                                    const AssociationOptions& options) {
  const std::vector<double> own = times_of(estimate, 0);
  const std::vector<double> other = times_of(reference, options.offset_s);
  const bool estimate_asks = own.size() <= other.size();
  const std::vector<double>& asking = estimate_asks ? own : other;
  const std::vector<double>& asked = estimate_asks ? other : own;
  std::map<std::size_t, std::size_t> asker_of;  // of each that was taken
  for (std::size_t i = 0; i < asking.size(); ++i) {
    const std::size_t found = nearest_in(asked, asking[i]);
    const double difference = std::abs(asked[found] - asking[i]);
    if (!(difference <= options.max_difference_s)) continue;
    const auto [place, first] = asker_of.try_emplace(found, i);
    if (!first && difference < std::abs(asked[found] - asking[place->second])) place->second = i;
  }
  std::vector<TrajectoryPair> pairs;
  for (const auto& [taken, asker] : asker_of) {
    pairs.push_back(estimate_asks ? TrajectoryPair{asker, taken} : TrajectoryPair{taken, asker});
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const auto& a, const auto& b) { return a.estimate < b.estimate; });
  return pairs;
}

}  // namespace

std::string_view trajectory_kind_name(TrajectoryKind kind) {
  switch (kind) {
    case TrajectoryKind::reconstruction:
      return "reconstruction";
    case TrajectoryKind::localization:
      return "localization";
    case TrajectoryKind::tum:
      return "TUM file";
    case TrajectoryKind::colmap:
      return "COLMAP model";
    case TrajectoryKind::reference:
      return "reference.json";
  }
  return "TUM file";
}

bool Trajectory::has_names() const {
  return std::none_of(poses.begin(), poses.end(), [](const auto& p) { return p.name.empty(); });
}

bool Trajectory::has_times() const {
  return std::all_of(poses.begin(), poses.end(),
                     [](const auto& p) { return p.time_s.has_value(); });
}

Trajectory read_trajectory(const fs::path& path) {
  Trajectory result;
  result.source = path;
  if (fs::is_directory(path)) {
    if (!RunJournal::exists(path)) {
      read_colmap_path(path, result);
    } else if (run_kind(path) == RunKind::reconstruct) {
      read_reconstruction(path, result);
    } else {
      read_localization(path, result);
    }
  } else if (const std::string text = read_file(path); trim(text).starts_with("{")) {
    read_reference_path(path, result);
  } else {
    read_tum_path(path, result);
  }
  if (result.poses.empty()) throw Error(Reason::bad_reference, "there is no pose in it", path);
  return result;
}

Association association_from_name(std::string_view name) {
  if (name == "auto") return Association::automatic;
  if (name == "time") return Association::time;
  if (name == "name") return Association::name;
  throw Error(Reason::bad_option, "--associate must be auto, time or name");
}

Associated associate(const Trajectory& estimate, const Trajectory& reference,
                     const AssociationOptions& options) {
  const bool names = estimate.has_names() && reference.has_names();
  const bool times = estimate.has_times() && reference.has_times();
  Associated result;
  result.by = options.by;
  if (result.by == Association::automatic) {
    result.by = names ? Association::name : Association::time;
  }
  if (!(result.by == Association::name ? names : times)) {
    throw Error(Reason::bad_reference,
                std::string("poses cannot be put together by ") +
                    (result.by == Association::name ? "name" : "time") +
                    ": one of the two has no " +
                    (result.by == Association::name ? "names (TUM files have times only)"
                                                    : "times (COLMAP models have names only)"),
                reference.source);
  }
  result.pairs = result.by == Association::name ? by_name(estimate, reference)
                                                : by_time(estimate, reference, options);
  if (result.pairs.empty()) {
    throw Error(Reason::bad_reference,
                result.by == Association::name
                    ? "no name of the run stands in the reference"
                    : "no two poses are near enough in time: look at --max-time-difference and "
                      "--time-offset",
                reference.source);
  }
  return result;
}

}  // namespace skyfix
