// Camera paths from wherever they come: a run of ours, a TUM file, a COLMAP model, a
// reference.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/geo/rigid3.h"

namespace skyfix {

struct TrajectoryPose {
  std::string name;              // empty in TUM files
  std::optional<double> time_s;  // absent in COLMAP models and reference.json
  Rigid3 world_from_cam;
};

enum class TrajectoryKind { reconstruction, localization, tum, colmap, reference };
std::string_view trajectory_kind_name(TrajectoryKind kind);

struct Trajectory {
  std::filesystem::path source;
  TrajectoryKind kind = TrajectoryKind::tum;
  std::string unit;                   // of lengths: "arbitrary", "metres", "as in the file"
  std::vector<TrajectoryPose> poses;  // in order of the run, of time, or of names
  bool has_names() const;
  bool has_times() const;
};

// A run folder (frames that are ok; a frame's time, or its index as in trajectory.tum), a COLMAP
// model's or project's folder, a file that begins with '{' (reference.json), any other file as TUM.
// Throws what the readers throw, Error(bad_reference) where there is no pose at all.
Trajectory read_trajectory(const std::filesystem::path& path);

struct TrajectoryPair {
  std::size_t estimate = 0;
  std::size_t reference = 0;
};
enum class Association { automatic, time, name };
Association association_from_name(std::string_view name);  // throws Error(bad_option)

// Which poses belong together, in the estimate's order. By name: as match_names. By time: each pose
// of the path with fewer poses takes the nearest in time of the other, at most `max_difference_s`
// away (evo's rule), and of several that took the same one the nearest keeps it. Automatic: by name
// where both have names, else by time. Throws Error(bad_reference) where neither will do or nothing
// belongs together.
struct AssociationOptions {
  Association by = Association::automatic;
  double max_difference_s = 0.01;
  double offset_s = 0;  // added to the reference's times
};
struct Associated {
  Association by = Association::name;
  std::vector<TrajectoryPair> pairs;
};
Associated associate(const Trajectory& estimate, const Trajectory& reference,
                     const AssociationOptions& options);

}  // namespace skyfix
