// The result for one input, whatever happened to it. The record written to disk is made from this.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/geo/camera.h"
#include "skyfix/geo/geodesy.h"
#include "skyfix/geo/rigid3.h"
#include "skyfix/retrieval/candidates.h"

namespace skyfix {

enum class FixStatus { ok, rejected, failed, skipped };
std::string_view fix_status_name(FixStatus status);

// Where the query's camera came from.
enum class CameraSource {
  unknown,
  given,
  map_camera,
  map_camera_scaled,
  map_camera_turned,
  exif,
  guess
};
std::string_view camera_source_name(CameraSource source);

struct FixPose {
  Rigid3 cam_from_world;  // in the map model's own frame and units
  // Only with georegistration:
  std::optional<Eigen::Vector3d> position_enu;
  std::optional<Wgs84> position_wgs84;  // height: see the run's altitude datum
  std::optional<GimbalAngles> orientation_ypr_ned;
  // e n u (metres) then rotation vector (radians), row-major. Without georegistration absent.
  std::optional<Eigen::Matrix<double, 6, 6>> covariance_enu;
  // The same in the map's frame and units (always, where estimable).
  std::optional<Eigen::Matrix<double, 6, 6>> covariance_map;
};

// A device's memory while a frame was worked on, MiB.
struct DevicePeaks {
  double booked_mib = 0;           // highest sum over all owners
  double allocated_mib = 0;        // handed out by the device's allocator, highest
  double reserved_mib = 0;         // held by it, highest
  std::optional<double> used_mib;  // by the process, as the driver counts, at the frame's end
  std::map<std::string, double> by_owner_mib;  // when the sum was highest
};

// Figures that may differ between equal runs.
struct FixTelemetry {
  std::map<std::string, double> timing_ms;
  std::optional<double> latency_ms;    // live: from the frame's arrival to its result
  std::string query_descriptor_cache;  // hit, miss, off, corrupt
  std::string device = "cpu";          // cpu, cuda: where it was matched, unless memory ran out
  std::optional<DevicePeaks> peaks;    // absent where the CPU computes alone
  int memory_retries = 0;              // for want of device memory
  std::string memory_given_up;         // the steps of the retry ladder that were taken (retry.h)
  // equal: the very numbers of a run with memory to spare; equivalent: within the networks'
  // tolerance. The exact matcher's are always equal.
  std::string numerics = "equal";
  // This frame's references that were on the device already, and those that were not.
  std::int64_t reference_hits = 0;
  std::int64_t reference_misses = 0;
};

struct Fix {
  std::string name;        // as the input names it
  std::int64_t index = 0;  // from 1, in natural order of the whole input
  FixStatus status = FixStatus::failed;
  std::optional<Reason> reason;  // absent exactly when ok
  std::string reason_text;       // one sentence
  std::optional<FixPose> pose;   // only when ok

  int inliers = 0;  // distinct map points
  int matches = 0;  // distinct map points among the pairs given to the solver
  double coverage = 0;
  std::optional<double> reprojection_px;
  std::optional<double> log10_false_alarms;
  bool planar = false;
  int image_width = 0;
  int image_height = 0;
  std::optional<Camera> camera;
  CameraSource camera_source = CameraSource::unknown;
  int turn = 0;  // quarters clockwise applied before matching
  struct Alternative {
    Rigid3 cam_from_world;
    int inliers = 0;
    double reprojection_px = 0;
  };
  std::optional<Alternative> alternative;
  RetrievalReport retrieval;
  std::vector<std::string> warnings;
  FixTelemetry telemetry;

  // For drawing and windows; not part of the record.
  struct Inlier {
    Eigen::Vector2d pixel;
    std::uint32_t point_index = 0;
  };
  std::vector<Inlier> inlier_points;
};

}  // namespace skyfix
