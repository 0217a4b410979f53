// Frames of an invented reconstruction. For tests only.
#pragma once

#include <random>

#include "skyfix/report/stream_run.h"
#include "skyfix/report/testing.h"

namespace skyfix::report_testing {

struct StreamScene {
  int width = 28;  // of the network's picture
  int height = 14;
  bool with_time = true;
  bool with_sky = true;
};

// A wavy wall that the camera passes by; everything follows from the index.
inline StreamFrame sample_stream_frame(std::int64_t index, const StreamScene& scene = {}) {
  std::mt19937 random(static_cast<unsigned>(index));
  std::uniform_real_distribution<float> noise(0, 1);
  StreamFrame frame;
  frame.name = "clip, 1.mp4#" + std::to_string(index);
  frame.index = index;
  if (scene.with_time) frame.time_ns = (index - 1) * 33'366'667;
  frame.status = StreamStatus::ok;
  frame.position = index - 1;
  frame.role = index <= 3 ? FrameRole::scale : FrameRole::keyframe;
  frame.map = {scene.width * 4, scene.height * 4, scene.width, scene.height, 0.25, 0.25, 0, 0};
  const Eigen::Quaterniond turn(Eigen::AngleAxisd(0.02 * static_cast<double>(index),
                                                  Eigen::Vector3d(0.1, 1, 0.2).normalized()));
  frame.view.cam_from_world =
      Rigid3{turn, {0.07 * static_cast<double>(index), 1.0 / 3, -0.01}}.inverse();
  const double focal = 0.9 * scene.width;
  frame.view.network_camera = {CameraModel::pinhole,
                               scene.width,
                               scene.height,
                               {focal, focal, scene.width / 2.0, scene.height / 2.0}};
  frame.view.source_camera = {CameraModel::pinhole,
                              scene.width * 4,
                              scene.height * 4,
                              {focal * 4, focal * 4, scene.width * 2.0, scene.height * 2.0}};
  StreamPrediction& prediction = frame.prediction;
  prediction.width = scene.width;
  prediction.height = scene.height;
  prediction.keys_seen = 100 * index;
  const std::size_t pixels = std::size_t(scene.width) * scene.height;
  for (std::size_t i = 0; i < pixels; ++i) {
    prediction.depth.push_back(2 + noise(random));
    prediction.confidence.push_back(1 + 2 * noise(random));
    frame.sky.push_back(i < pixels / 7 ? 1 : 0);
    for (int c = 0; c < 3; ++c)
      frame.picture.pixels.push_back(static_cast<std::uint8_t>(i * 3 + c));
  }
  prediction.depth[pixels - 1] = 0;
  prediction.depth[pixels - 2] = std::numeric_limits<float>::quiet_NaN();
  prediction.depth[pixels - 3] = std::numeric_limits<float>::infinity();
  frame.picture.width = scene.width;
  frame.picture.height = scene.height;
  if (!scene.with_sky) frame.sky.clear();
  frame.median_confidence = 2.03125 + 0.1 / 3;
  frame.timing_ms = {{"decode", 1.5}};
  return frame;
}

inline StreamFrame sample_failed_frame(std::int64_t index) {
  StreamFrame frame;
  frame.name = "clip, 1.mp4#" + std::to_string(index);
  frame.index = index;
  frame.reason = Reason::corrupt_image;
  frame.reason_text = "The frame is damaged.";
  return frame;
}

// Frame 5 of every run is damaged.
inline StreamFrame stream_frame_of_run(std::int64_t index, const StreamScene& scene = {}) {
  return index == 5 ? sample_failed_frame(index) : sample_stream_frame(index, scene);
}

}  // namespace skyfix::report_testing
