#include "skyfix/stream/session.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "skyfix/base/error.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/stream/goldens_testing.h"
#include "skyfix/stream/window_plan.h"

namespace skyfix {
namespace {
using ::testing::ElementsAre;
namespace fs = std::filesystem;

std::shared_ptr<const Gct> tiny(bool points = true) {
  static const auto make = [](bool with_points) {
    GctOptions options;
    options.point_head = with_points;
    return std::make_shared<const Gct>(make_synthetic_source(), gct_tiny(), options);
  };
  static const auto with = make(true), without = make(false);
  return points ? with : without;
}

struct Pictures {
  int width = 0, height = 0;
  std::vector<std::vector<std::uint8_t>> frames;  // interleaved
  PictureView view(std::size_t i) const { return {frames.at(i).data(), width, height, 3}; }
};

class SessionGoldens : public testing::StreamGoldens {
 protected:
  Pictures pictures(std::size_t most = 1000) {
    const auto size = shape("images_u8");
    const auto all = bytes("images_u8");
    const std::size_t plane = std::size_t(size[2]) * size[3];
    Pictures pictures{int(size[3]), int(size[2]), {}};
    for (std::size_t f = 0; f < std::min<std::size_t>(size[0], most); ++f) {
      auto& frame = pictures.frames.emplace_back(3 * plane);
      for (std::size_t i = 0; i < 3 * plane; ++i) {
        frame[i % plane * 3 + i / plane] = all[f * 3 * plane + i];
      }
    }
    return pictures;
  }

  static std::vector<float> joined(const std::vector<StreamPrediction>& predictions,
                                   std::vector<float> StreamPrediction::*member) {
    std::vector<float> all;
    for (const auto& each : predictions) {
      all.insert(all.end(), (each.*member).begin(), (each.*member).end());
    }
    return all;
  }

  void expect_output(const std::vector<StreamPrediction>& found, const std::string& prefix) {
    std::vector<float> poses;
    for (const auto& each : found) poses.insert(poses.end(), each.pose.begin(), each.pose.end());
    expect_close(poses, values(prefix + "pose_enc"), 1e-5, prefix + "pose");
    expect_close(joined(found, &StreamPrediction::depth), values(prefix + "depth"), 1e-5, "depth");
    expect_close(joined(found, &StreamPrediction::confidence), values(prefix + "depth_conf"), 1e-5,
                 "confidence");
    if (!has(prefix + "world_points")) return;
    expect_close(joined(found, &StreamPrediction::points), values(prefix + "world_points"), 1e-5,
                 "points");
  }
};

std::vector<StreamPrediction> stream(StreamSession& session, const Pictures& pictures,
                                     std::size_t first = 0) {
  std::vector<StreamPrediction> all;
  const auto sink = [&](StreamPrediction&& prediction) { all.push_back(std::move(prediction)); };
  for (std::size_t i = first; i < pictures.frames.size(); ++i) session.push(pictures.view(i), sink);
  session.finish(sink);
  return all;
}

StreamOptions small_window() {
  return {.num_scale_frames = 2, .window = 3, .keyframe_interval = 1};
}

// By keyframe interval, as the goldens' manifest has them.
const std::map<int, std::vector<std::int64_t>> kKeysSeen{
    {1, {52, 52, 78, 104, 130, 136, 142, 148, 154, 160}},
    {2, {52, 52, 78, 104, 104, 130, 130, 156, 136, 162}},
    {3, {52, 52, 78, 104, 104, 104, 130, 130, 130, 156}},
};

TEST_F(SessionGoldens, StreamsAsTheReferenceDoes) {
  for (const int interval : {1, 2, 3}) {
    for (const bool offload : {false, true}) {
      if (!open("tiny_images")) return;
      const Pictures frames = pictures(10);
      const std::string name = interval == 1 ? "" : "_kf" + std::to_string(interval);
      if (!open("tiny_stream" + name)) return;
      StreamOptions options = small_window();
      options.keyframe_interval = interval;
      options.offload_to_cpu = offload;
      StreamSession session(tiny(), options, 10);
      const auto found = stream(session, frames);
      ASSERT_EQ(found.size(), 10u);
      expect_output(found, "out.");
      std::vector<std::int64_t> keys;
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].position, i);
        EXPECT_EQ(found[i].role, frame_role(i, 2, interval));
        keys.push_back(found[i].keys_seen);
      }
      EXPECT_EQ(keys, kKeysSeen.at(interval));
    }
  }
}

TEST_F(SessionGoldens, OtherSettings) {
  if (!open("tiny_images")) return;
  const Pictures frames = pictures(10);
  if (!open("tiny_variants")) return;
  const auto expect_case = [&](const std::string& name, const StreamOptions& options) {
    StreamSession session(tiny(), options, 10);
    expect_output(stream(session, frames), name + ".");
  };
  StreamOptions slots = small_window();
  slots.reserved_slots = 4;
  slots.window = 2;
  expect_case("scale_slots4_scale2_window2", slots);
  StreamOptions one = small_window();
  one.num_scale_frames = 1;
  one.window = 2;
  expect_case("scale1_window2", one);
  StreamOptions forgetful = small_window();
  forgetful.specials_of_evicted = false;
  expect_case("no_special_retention", forgetful);
}

TEST_F(SessionGoldens, OneFrameIsAScalePhaseOfOne) {
  if (!open("tiny_images")) return;
  const Pictures frames = pictures(1);
  if (!open("tiny_single")) return;
  StreamSession session(tiny(), small_window());
  const auto found = stream(session, frames);
  ASSERT_EQ(found.size(), 1u);
  expect_output(found, "out.");
}

struct WindowedCase {
  const char* name;
  StreamOptions options;
};

std::vector<WindowedCase> windowed_cases() {
  StreamOptions options = small_window();
  options.mode = StreamMode::windowed;
  options.window_frames = 6;
  StreamOptions overlap4 = options, kf2 = options;
  overlap4.window_frames = 8;
  overlap4.overlap_frames = 4;
  kf2.window_frames = 5;
  kf2.overlap_keyframes = 2;
  kf2.keyframe_interval = 2;
  return {{"kf1", options}, {"overlap4", overlap4}, {"kf2_overlapkf2", kf2}};
}

TEST_F(SessionGoldens, WindowsAreAlignedAndStitched) {
  if (!open("tiny_windowed")) return;
  const Pictures frames = pictures();
  for (const auto& [name, options] : windowed_cases()) {
    SCOPED_TRACE(name);
    StreamSession session(tiny(), options);
    const auto found = stream(session, frames);
    ASSERT_EQ(found.size(), 16u);
    const std::string prefix = std::string(name) + ".out.";
    expect_output(found, prefix);
    const auto types = bytes(prefix + "frame_type");
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(static_cast<int>(found[i].role), types[i]) << i;
      EXPECT_EQ(found[i].position, i);
    }
    const auto windows = session.figures().windows;
    const auto scales = values(prefix + "chunk_scales"),
               wanted = values(prefix + "chunk_transforms");
    ASSERT_EQ(windows.size(), scales.size());
    std::vector<float> found_scales, transforms;
    for (const WindowAlignment& window : windows) {
      found_scales.push_back(static_cast<float>(window.scale));
      transforms.insert(transforms.end(), window.world_from_window.begin(),
                        window.world_from_window.end());
      EXPECT_EQ(window.depth_residual.has_value(), window.window > 0);
    }
    expect_close(found_scales, scales, 1e-5, "scales");
    expect_close(transforms, wanted, 1e-5, "transforms");
  }
}

Pictures made_pictures(std::size_t count) {
  Pictures pictures{70, 56, {}};
  for (std::size_t f = 0; f < count; ++f) {
    auto& frame = pictures.frames.emplace_back(70 * 56 * 3);
    for (std::size_t i = 0; i < frame.size(); ++i) {
      frame[i] = static_cast<std::uint8_t>((i * 7 + f * 31) ^ (i / 210 * (f + 3)));
    }
  }
  return pictures;
}

void expect_equal(const std::vector<StreamPrediction>& found,
                  const std::vector<StreamPrediction>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].position, wanted[i].position);
    EXPECT_EQ(found[i].role, wanted[i].role);
    EXPECT_EQ(found[i].pose, wanted[i].pose) << i;
    EXPECT_EQ(found[i].depth, wanted[i].depth) << i;
    EXPECT_EQ(found[i].confidence, wanted[i].confidence) << i;
  }
}

// At every frame, in every mode: what comes after a checkpoint is the same to the bit.
TEST(StreamSession, GoesOnFromACheckpointToTheBit) {
  const Pictures pictures = made_pictures(12);
  StreamOptions motion = small_window();
  motion.keyframe_interval = 0;
  motion.motion_px = 2;
  StreamOptions offload = small_window();
  offload.offload_to_cpu = true;
  offload.keyframe_interval = 2;
  StreamOptions windows_by_motion = motion;
  windows_by_motion.mode = StreamMode::windowed;
  windows_by_motion.window_frames = 4;
  windows_by_motion.motion_px = 1e-9;  // full after four frames
  for (const StreamOptions& options :
       {small_window(), motion, offload, windowed_cases()[1].options, windows_by_motion}) {
    StreamSession whole(tiny(false), options);
    const auto wanted = stream(whole, pictures);
    const fs::path file = fs::path(::testing::TempDir()) / "session.ckpt";
    for (const std::size_t cut : {1, 4, 5, 11}) {
      SCOPED_TRACE(cut);
      std::vector<StreamPrediction> found;
      const auto sink = [&](StreamPrediction&& each) { found.push_back(std::move(each)); };
      StreamSession first(tiny(false), options);
      for (std::size_t i = 0; i < cut; ++i) first.push(pictures.view(i), sink);
      first.save(file);
      StreamSession second(tiny(false), options);
      second.restore(file);
      for (auto& each : stream(second, pictures, cut)) found.push_back(std::move(each));
      expect_equal(found, wanted);
      EXPECT_EQ(second.figures().windows.size(), whole.figures().windows.size());
    }
    fs::remove(file);
  }
}

TEST(StreamSession, ACheckpointOfAnotherStreamIsRefused) {
  const fs::path file = fs::path(::testing::TempDir()) / "other.ckpt";
  const Pictures pictures = made_pictures(4);
  StreamSession session(tiny(false), small_window());
  for (std::size_t i = 0; i < 4; ++i) session.push(pictures.view(i), [](StreamPrediction&&) {});
  session.save(file);
  StreamOptions other = small_window();
  other.window = 4;
  const auto refusal = [&](const StreamOptions& options, const fs::path& from) {
    StreamSession wrong(tiny(false), options);
    try {
      wrong.restore(from);
    } catch (const Error& error) {
      return error.reason();
    }
    return Reason::internal;
  };
  EXPECT_EQ(refusal(other, file), Reason::run_mismatch);
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) - 1000));
    bytes << "XXXX";
  }
  EXPECT_EQ(refusal(small_window(), file), Reason::bad_run) << "four bytes have changed";
  fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_EQ(refusal(small_window(), file), Reason::bad_run);
  fs::remove(file);
}

TEST(StreamSession, FramesOfAnotherSizeAreRefused) {
  StreamSession session(tiny(false), small_window());
  const Pictures pictures = made_pictures(1);
  session.push(pictures.view(0), [](StreamPrediction&&) {});
  const std::vector<std::uint8_t> other(56 * 56 * 3);
  EXPECT_THROW(session.push({other.data(), 56, 56, 3}, [](StreamPrediction&&) {}), Error);
}

TEST(StreamSession, AFilledOneGoesOnLikeALongStream) {
  const Pictures pictures = made_pictures(3);
  StreamSession session(tiny(false), small_window());
  session.prefill(50, pictures.width, pictures.height);
  const auto found = stream(session, pictures);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].position, 50);
  EXPECT_EQ(found[2].role, FrameRole::keyframe);
  const std::int64_t tokens = 6 + 4 * 5;
  EXPECT_EQ(found[2].keys_seen, 5 * tokens + 6 * (53 - 5));
  EXPECT_EQ(session.figures().kept, 53);
  EXPECT_THROW(session.prefill(50, 70, 56), Error) << "it has begun";
}

// A threshold of nothing keeps every frame, an endless one only what the longest gap asks for.
TEST(StreamSession, KeyframesFollowMotion) {
  const Pictures pictures = made_pictures(12);
  const auto roles = [&](double motion_px, int gap) {
    StreamOptions options = small_window();
    options.keyframe_interval = 0;
    options.motion_px = motion_px;
    options.max_non_keyframe_gap = gap;
    StreamSession session(tiny(false), options);
    EXPECT_EQ(session.keyframe_interval(), 0);
    std::string roles;
    for (const auto& each : stream(session, pictures)) roles += frame_role_name(each.role)[0];
    EXPECT_EQ(session.figures().kept,
              std::ssize(roles) - std::count(roles.begin(), roles.end(), 'n'));
    EXPECT_EQ(session.figures().camera_tokens, session.figures().kept);
    return roles;
  };
  EXPECT_EQ(roles(1e-9, 100), "sskkkkkkkkkk");
  EXPECT_EQ(roles(1e5, 3), "ssknnnknnnkn");
  StreamOptions automatic = small_window();
  automatic.keyframe_interval = 0;
  EXPECT_EQ(StreamSession(tiny(false), automatic).keyframe_interval(), 0) << "unknown length";
  EXPECT_EQ(StreamSession(tiny(false), automatic, 700).keyframe_interval(), 3);
}

// By motion a window ends with the keyframe that fills it, however many frames it took, and the
// next one sees its last frames again, but for its scale frames.
TEST(StreamSession, WindowsByMotionEndWithTheirLastKeyframe) {
  const Pictures pictures = made_pictures(12);
  const auto windows = [&](double motion_px, int gap, int overlap) {
    StreamOptions options = windowed_cases()[0].options;
    options.keyframe_interval = 0;
    options.motion_px = motion_px;
    options.max_non_keyframe_gap = gap;
    options.window_frames = 4;
    options.overlap_frames = overlap;
    StreamSession session(tiny(false), options);
    const auto found = stream(session, pictures);
    EXPECT_EQ(found.size(), 12u);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].position, i);
    std::string text;
    for (const WindowAlignment& each : session.figures().windows) {
      text += std::to_string(each.first_frame) + "+" + std::to_string(each.frames) + " ";
      EXPECT_EQ(each.depth_residual.has_value(), each.window > 0 && overlap > 0);
    }
    return text;
  };
  EXPECT_EQ(windows(1e5, 2, 2), "0+6 4+6 8+4 ");
  EXPECT_EQ(windows(1e5, 2, 0), "0+6 6+6 ");
  EXPECT_EQ(windows(1e-9, 100, 1), "0+4 3+4 6+4 9+3 ");
  EXPECT_EQ(windows(1e-9, 100, 3), "0+4 2+4 4+4 6+4 8+4 ");
}

}  // namespace
}  // namespace skyfix
