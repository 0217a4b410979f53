// Poses from rigs and frames: sensor_from_world = sensor_from_rig * rig_from_world (formats 1.3).
#include <algorithm>
#include <cstdio>
#include <numbers>
#include <unordered_map>

#include "skyfix/map/colmap_records.h"

namespace skyfix::colmap_io {
namespace fs = std::filesystem;

namespace {

// Differences below these come from six-digit text files, not from contradicting poses.
constexpr double kSameAngleDeg = 0.01;
constexpr double kSameCentreRelative = 1e-5;

// How far the images' own poses are from the frames'.
struct Disagreement {
  int images = 0;
  double angle_deg = 0;
  double distance = 0;

  void add(const Rigid3& own, const Rigid3& composed) {
    const double angle = rotation_angle(own.rotation, composed.rotation) * 180 / std::numbers::pi;
    const double apart = (own.centre() - composed.centre()).norm();
    const double same = kSameCentreRelative * (1 + composed.translation.norm());
    if (angle <= kSameAngleDeg && apart <= same) return;
    ++images;
    angle_deg = std::max(angle_deg, angle);
    distance = std::max(distance, apart);
  }
};

class FrameComposer {
 public:
  FrameComposer(ColmapModel& model, const fs::path& frames_file)
      : model_(model), frames_file_(frames_file) {
    for (std::size_t i = 0; i < model.images.size(); ++i)
      image_index_[model.images[i].id.value] = i;
    for (const ColmapRig& rig : model.rigs) rigs_[rig.id.value] = &rig;
  }

  void compose() {
    std::vector<bool> posed(model_.images.size(), false);
    for (const ColmapFrame& frame : model_.frames) {
      const auto rig = rigs_.find(frame.rig.value);
      if (rig == rigs_.end()) fail(frame, "uses a rig that the rigs file does not hold");
      for (const FrameDatum& datum : frame.data) {
        if (datum.type == SensorType::camera) compose_image(frame, *rig->second, datum, posed);
      }
    }
    const auto left = std::count(posed.begin(), posed.end(), false);
    warn_if(left,
            "images are in no frame or their sensor has no pose in its rig; their own poses "
            "are used");
    warn_if(unknown_images_, "images named by frames are not in the images file; they are ignored");
    if (off_.images > 0) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "%d images have poses that contradict the frames (largest disagreement: "
                    "%.1f deg, %.2f map units); the frames are used",
                    off_.images, off_.angle_deg, off_.distance);
      model_.warnings.emplace_back(text);
    }
  }

 private:
  void compose_image(const ColmapFrame& frame, const ColmapRig& rig, const FrameDatum& datum,
                     std::vector<bool>& posed) {
    const auto found = image_index_.find(datum.data_id);
    if (found == image_index_.end()) {
      ++unknown_images_;
      return;
    }
    ColmapImage& image = model_.images[found->second];
    for (std::size_t s = 0; s < rig.sensors.size(); ++s) {
      const RigSensor& sensor = rig.sensors[s];
      if (sensor.type != datum.type || sensor.id != datum.sensor_id) continue;
      if (s > 0 && !sensor.has_pose) return;
      // The reference sensor is the rig: its pose is kept bit by bit.
      const Rigid3 composed =
          s == 0 ? frame.rig_from_world : sensor.sensor_from_rig * frame.rig_from_world;
      off_.add(image.cam_from_world, composed);
      image.cam_from_world = composed;
      posed[found->second] = true;
      return;
    }
    fail(frame,
         "names camera " + std::to_string(datum.sensor_id) + ", which its rig does not hold");
  }

  [[noreturn]] void fail(const ColmapFrame& frame, const std::string& what) const {
    throw Error(Reason::bad_model,
                "frame " + std::to_string(frame.id.value) + " (rig " +
                    std::to_string(frame.rig.value) + ") " + what +
                    ". Export the model again, or remove rigs and frames to use the images' poses",
                frames_file_);
  }

  void warn_if(std::ptrdiff_t count, const std::string& what) {
    if (count > 0) model_.warnings.push_back(std::to_string(count) + " " + what);
  }

  ColmapModel& model_;
  fs::path frames_file_;
  std::unordered_map<std::uint64_t, std::size_t> image_index_;
  std::unordered_map<std::uint32_t, const ColmapRig*> rigs_;
  Disagreement off_;
  std::ptrdiff_t unknown_images_ = 0;
};

}  // namespace

void apply_frames(ColmapModel& model, const fs::path& folder, ColmapFormat format) {
  const fs::path rigs_file = model_file(folder, "rigs", format);
  const fs::path frames_file = model_file(folder, "frames", format);
  const bool has_rigs = fs::exists(rigs_file);
  const bool has_frames = fs::exists(frames_file);
  if (has_rigs != has_frames) {
    const fs::path& there = has_rigs ? rigs_file : frames_file;
    const fs::path& missing = has_rigs ? frames_file : rigs_file;
    model.warnings.push_back(there.filename().string() + " is there without " +
                             missing.filename().string() + "; the images' own poses are used");
    model.rigs.clear();
    model.frames.clear();
  }
  if (has_rigs && has_frames) FrameComposer(model, frames_file).compose();
}

}  // namespace skyfix::colmap_io
