#include "bench/frames_benchmark.h"

#include <spdlog/fmt/fmt.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <map>
#include <ostream>
#include <random>

#include "bench/match_data.h"
#include "bench/models_scene.h"
#include "bench/overlap.h"
#include "bench/stopwatch.h"
#include "skyfix/base/error.h"
#include "skyfix/features/network_features.h"
#include "skyfix/image/image.h"
#include "skyfix/localize/map_match.h"
#include "skyfix/solve/absolute_pose.h"

namespace skyfix::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kWarmUps = 4;  // the second records the networks' graphs
constexpr double kNoisePx = 1;
constexpr double kWrongPoseM = 0.5;  // from 100 m above the ground

struct Decoded {
  Image picture;
  double ms = 0;
};

struct Matched {
  std::vector<MapPair> pairs;  // best first
  int width = 0, height = 0;
  double ms = 0;
};

// What must be equal whatever the order of work.
struct Result {
  std::size_t pairs = 0;
  int inliers = 0;
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  bool operator==(const Result&) const = default;
};

std::vector<fs::path> photos_in(const fs::path& folder) {
  std::vector<fs::path> photos;
  for (const auto& entry : fs::directory_iterator(folder)) photos.push_back(entry.path());
  std::sort(photos.begin(), photos.end());
  if (photos.empty()) throw Error(Reason::bad_option, "the folder holds no photos", folder);
  return photos;
}

// The largest middle part of 4:3.
Image middle(const Image& image) {
  Image part{std::min(image.width, image.height * 4 / 3), 0, image.channels, {}};
  part.height = std::min(image.height, part.width * 3 / 4);
  const int left = (image.width - part.width) / 2, top = (image.height - part.height) / 2;
  const std::size_t row_bytes = std::size_t(part.width) * part.channels;
  for (int y = 0; y < part.height; ++y) {
    const std::uint8_t* row = image.row(top + y) + std::size_t(left) * part.channels;
    part.pixels.insert(part.pixels.end(), row, row + row_bytes);
  }
  return part;
}

// Looking down from 100 m.
Rigid3 pose_of(std::int64_t frame) {
  const Eigen::Quaterniond rotation(
      Eigen::AngleAxisd(0.1 * double(frame), Eigen::Vector3d::UnitZ()) *
      Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitX()));
  return {rotation, rotation * -Eigen::Vector3d(3.0 * double(frame), 20, 100)};
}

class Frames {
 public:
  explicit Frames(const FramesBenchmarkOptions& options)
      : options_(options),
        bench_(open_models_bench(options.models)),
        scene_(bench_, options.models),
        photos_(photos_in(options.photos)) {}

  const std::string& heading() const { return bench_.heading; }

  Decoded decode(std::int64_t frame) const {
    Decoded decoded;
    decoded.ms = 1e3 * seconds_of([&] {
                         decoded.picture =
                             middle(decode_image(photos_[frame % photos_.size()], {.grey = false}));
                       }).wall;
    return decoded;
  }

  Matched match(const Decoded& decoded) const {
    const PictureView view = picture_view(decoded.picture);
    Matched matched{{}, view.width, view.height, 0};
    matched.ms = 1e3 * seconds_of([&] {
                         scene_.placed(view);
                         scene_.decoded(*scene_.encoded(view), options_.models.references,
                                        [&](std::size_t reference, const Mast3rPair& pair) {
                                          add(scene_.matched(pair), reference, matched.pairs);
                                        });
                         matched.pairs = settle_points(settle_features(std::move(matched.pairs)));
                         if (std::ssize(matched.pairs) > options_.max_pairs) {
                           matched.pairs.resize(options_.max_pairs);
                         }
                       }).wall;
    return matched;
  }

  // The pose, and how long finding it took.
  std::pair<Result, double> solve(std::int64_t frame, const Matched& matched) const {
    const Camera camera{CameraModel::simple_pinhole,
                        matched.width,
                        matched.height,
                        {0.9 * matched.width, 0.5 * matched.width, 0.5 * matched.height}};
    const std::vector<PointPair> pairs = planted(frame, camera, matched.pairs);
    PoseEstimate pose;
    const double ms = 1e3 * seconds_of([&] {
                              pose = estimate_pose(pairs, camera, {});
                              if (pose.found) {
                                pose = refine_pose(pairs, camera, pose.cam_from_map, {});
                              }
                            }).wall;
    if (!pose.found) return {{pairs.size(), 0, Eigen::Vector3d::Zero()}, ms};
    return {{pairs.size(), pose.inlier_count, pose.cam_from_map.centre()}, ms};
  }

 private:
  void add(const std::vector<SurePair>& found, std::size_t reference,
           std::vector<MapPair>& pairs) const {
    for (const SurePair& pair : found) {
      pairs.push_back({std::uint32_t(pair.mutual.query), 0, 0,
                       std::uint32_t(reference * options_.models.places + pair.mutual.map),
                       std::uint32_t(reference), pair.mutual.score, 0});
    }
  }

  std::vector<PointPair> planted(std::int64_t frame, const Camera& camera,
                                 const std::vector<MapPair>& found) const {
    std::mt19937_64 random{std::uint64_t(frame)};
    std::uniform_real_distribution<double> share(0, 1), height(-8, 8);
    std::normal_distribution<double> noise(0, kNoisePx);
    const auto anywhere = [&] {
      return Eigen::Vector2d(share(random) * camera.width, share(random) * camera.height);
    };
    const Rigid3 map_from_cam = pose_of(frame).inverse();
    std::vector<PointPair> pairs;
    for (const MapPair& pair : found) {
      PointPair planted{anywhere(), {}, 1, pair.score, pair.point};
      const Eigen::Vector3d ray = *camera.unproject(planted.pixel);
      planted.point = map_from_cam * (ray * ((100 + height(random)) / ray.z()));
      planted.pixel += Eigen::Vector2d(noise(random), noise(random));
      if (share(random) < options_.outlier_share) planted.pixel = anywhere();
      pairs.push_back(planted);
    }
    return pairs;
  }

  const FramesBenchmarkOptions& options_;
  ModelsBench bench_;
  ModelsScene scene_;
  std::vector<fs::path> photos_;
};

struct Run {
  std::vector<Result> results;
  std::vector<double> decode_ms, device_ms, solve_ms;
  double frame_ms = 0;  // of the whole run
};

Run run_frames(const Frames& frames, std::int64_t count, bool overlapped) {
  Run run;
  const auto decode = [&](std::int64_t frame) { return frames.decode(frame); };
  const auto match = [&](std::int64_t, const Decoded& decoded) {
    run.decode_ms.push_back(decoded.ms);
    return frames.match(decoded);
  };
  const auto solve = [&](std::int64_t frame, const Matched& matched) {
    const auto [result, ms] = frames.solve(frame, matched);
    run.results.push_back(result);
    run.device_ms.push_back(matched.ms);
    run.solve_ms.push_back(ms);
  };
  const Seconds all = seconds_of([&] {
    if (overlapped) {
      overlap_stages(count, decode, match, solve);
    } else {
      for (std::int64_t i = 0; i < count; ++i) solve(i, match(i, decode(i)));
    }
  });
  run.frame_ms = 1e3 * all.wall / double(count);
  return run;
}

int wrong_poses(const Run& run) {
  int wrong = 0;
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    const Result& result = run.results[i];
    const double off_m = (result.centre - pose_of(std::int64_t(i)).centre()).norm();
    wrong += result.inliers == 0 || off_m > kWrongPoseM ? 1 : 0;
  }
  return wrong;
}

}  // namespace

int run_frames_benchmark(const FramesBenchmarkOptions& options, std::ostream& out) {
  const Frames frames(options);
  out << frames.heading() << "\n" << std::flush;
  run_frames(frames, kWarmUps, false);
  const Run apart = run_frames(frames, options.frames, false);
  const Run at_once = run_frames(frames, options.frames, true);
  out << fmt::format("{:<28} {:>10} {:>10} {:>10} {:>12} {:>10}\n", "medians, ms", "decode",
                     "networks", "solve", "a frame", "frames/s");
  for (const auto& [what, run] :
       {std::pair{"one stage after the other", &apart}, std::pair{"stages overlapped", &at_once}}) {
    out << fmt::format("{:<28} {:>10.1f} {:>10.1f} {:>10.1f} {:>12.1f} {:>10.1f}\n", what,
                       median(run->decode_ms), median(run->device_ms), median(run->solve_ms),
                       run->frame_ms, 1e3 / run->frame_ms);
  }
  std::size_t pairs = 0;
  for (const Result& result : apart.results) pairs += result.pairs;
  const int wrong = wrong_poses(apart);
  const bool equal = apart.results == at_once.results;
  out << fmt::format("{} frames, {} pairs a frame, {} wrong poses; results {}\n", options.frames,
                     pairs / apart.results.size(), wrong, equal ? "equal" : "DIFFER");
  return wrong == 0 && equal ? 0 : 1;
}

}  // namespace skyfix::bench
