#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "skyfix/frames/sources.h"
#include "skyfix/frames/video_testing.h"

namespace skyfix {
namespace {

using namespace testing_frames;
using ::testing::HasSubstr;

// A camera that sends as the test lets it: no sockets, no cameras.
class FakeCamera : public FrameReader {
 public:
  struct Control {
    std::mutex mutex;
    std::condition_variable changed;
    int sent = 0;  // frames that may be read
    bool ended = false;
    bool unplugged = false;
    bool stopped = false;
    int read = 0;
    template <class Change>
    void set(const Change& change) {
      const std::lock_guard lock(mutex);
      change();
      changed.notify_all();
    }
    // Until the source's thread has read so many and stands waiting.
    void wait_until_read(int frames) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return read >= frames && waiting; });
    }
    bool waiting = false;
  };
  explicit FakeCamera(std::shared_ptr<Control> control) : control_(std::move(control)) {}

  const ReaderInfo& info() const override { return info_; }
  Step advance() override {
    std::unique_lock lock(control_->mutex);
    control_->waiting = control_->read >= control_->sent;
    control_->changed.notify_all();
    control_->changed.wait(lock, [&] {
      return control_->stopped || control_->read < control_->sent || control_->ended ||
             control_->unplugged;
    });
    control_->waiting = false;
    if (control_->stopped) return Step::end;
    if (control_->read < control_->sent) {
      ++control_->read;
      return control_->read == 3 ? Step::damaged : Step::frame;
    }
    if (control_->unplugged) throw Error(Reason::source_lost, "it broke off");
    return Step::end;
  }
  std::optional<std::int64_t> time_ns() const override { return 1000 + control_->read * 10; }
  Image picture() override {
    return Image{1, 1, 3, {static_cast<std::uint8_t>(control_->read), 0, 0}};
  }
  const std::string& damage() const override { return damage_; }
  void stop() override {
    control_->set([&] { control_->stopped = true; });
  }

 private:
  std::shared_ptr<Control> control_;
  ReaderInfo info_;
  std::string damage_ = "the frame is damaged";
};

TEST(LiveSource, TheOldestAreDroppedAndCounted) {
  const auto camera = std::make_shared<FakeCamera::Control>();
  const auto source = live_frames({.input = "rtsp://cam", .queue_frames = 4}, "stream",
                                  std::make_unique<FakeCamera>(camera));
  camera->set([&] { camera->sent = 10; });
  camera->wait_until_read(10);
  camera->set([&] { camera->ended = true; });
  const auto frames = all_of(*source);
  ASSERT_EQ(frames.size(), 4u);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i) + 7;
    EXPECT_EQ(frames[i].index, index);
    EXPECT_EQ(frames[i].name, numbered_name("stream", index));
    EXPECT_EQ(frames[i].pixels.pixels[0], index);
    EXPECT_EQ(frames[i].time_ns, (index - 1) * 10) << "since the first, dropped or not";
    EXPECT_TRUE(frames[i].arrived_steady_ns);
  }
  EXPECT_EQ(source->figures().given, 4);
  EXPECT_EQ(source->figures().dropped, 6);
  EXPECT_EQ(source->info().kind, FrameSourceKind::live);
}

TEST(LiveSource, BlockingDropsNothingAndDamageIsReported) {
  const auto camera = std::make_shared<FakeCamera::Control>();
  camera->sent = 20;
  camera->ended = true;
  const auto source = live_frames({.input = "-", .queue_frames = 2, .drop = DropPolicy::block},
                                  "stdin", std::make_unique<FakeCamera>(camera));
  const auto frames = all_of(*source);
  ASSERT_EQ(frames.size(), 20u);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].index, std::int64_t(i) + 1);
    EXPECT_EQ(frames[i].failure.has_value(), i == 2);
  }
  EXPECT_EQ(frames[2].failure_text, "the frame is damaged");
  EXPECT_EQ(source->figures().unreadable, 1);
  EXPECT_EQ(source->figures().dropped, 0);
}

TEST(LiveSource, AnUnpluggedCameraIsAnErrorAfterItsLastFrame) {
  const auto camera = std::make_shared<FakeCamera::Control>();
  camera->sent = 2;
  camera->unplugged = true;
  const auto source =
      live_frames({.input = "/dev/video7"}, "video7", std::make_unique<FakeCamera>(camera));
  EXPECT_EQ(source->next()->index, 1);
  EXPECT_EQ(source->next()->index, 2);
  const auto [reason, text] = error_of([&] { source->next(); });
  EXPECT_EQ(reason, Reason::source_lost);
  EXPECT_THAT(text, HasSubstr("video7"));
}

TEST(LiveSource, RangeAndStrideCountEveryFrame) {
  const auto camera = std::make_shared<FakeCamera::Control>();
  camera->sent = 1000;
  const auto source =
      live_frames({.input = "-", .stride = 2, .first = 4, .last = 9, .drop = DropPolicy::block},
                  "stdin", std::make_unique<FakeCamera>(camera));
  std::vector<std::int64_t> indices;
  for (const SourceFrame& frame : all_of(*source)) indices.push_back(frame.index);
  EXPECT_THAT(indices, ::testing::ElementsAre(4, 6, 8));
}

TEST(LiveSource, StopAndDestructionDoNotWaitForTheCamera) {
  const auto camera = std::make_shared<FakeCamera::Control>();
  const auto source = live_frames({.input = "-"}, "stdin", std::make_unique<FakeCamera>(camera));
  source->stop();
  EXPECT_FALSE(source->next());
  const auto other = std::make_shared<FakeCamera::Control>();
  live_frames({.input = "-"}, "stdin", std::make_unique<FakeCamera>(other)).reset();
}

TEST(LiveSource, FpsNeedsARate) {
  EXPECT_EQ(error_of([] {
              live_frames({.input = "-", .fps = 5}, "stdin",
                          std::make_unique<FakeCamera>(std::make_shared<FakeCamera::Control>()));
            }).first,
            Reason::bad_option);
}

// From another process, through a real pipe.
TEST(LiveSource, FramesOfAnotherProgram) {
  SKYFIX_REQUIRE_FFMPEG();
  FILE* pipe = ::popen("ffmpeg -v error -f lavfi -i testsrc=s=64x48:r=25:d=1 -f mjpeg -", "r");
  ASSERT_NE(pipe, nullptr);
  const auto source = live_frames({.input = "-", .drop = DropPolicy::block}, "stdin",
                                  open_pipe(::fileno(pipe), "mjpeg"));
  const auto frames = all_of(*source);
  EXPECT_EQ(frames.size(), 25u);
  for (const SourceFrame& frame : frames) {
    ASSERT_FALSE(frame.failure) << frame.failure_text;
    EXPECT_EQ(frame.pixels.width, 64);
  }
  EXPECT_EQ(::pclose(pipe), 0);
}

TEST(LiveSource, WhatCannotBeOpenedIsLost) {
  SKYFIX_REQUIRE_FFMPEG();
  const auto [reason, text] =
      error_of([] { open_frames({.input = "rtsp://user:secret@127.0.0.1:9/stream"}); });
  EXPECT_EQ(reason, Reason::source_lost);
  EXPECT_THAT(text, HasSubstr("rtsp://***@127.0.0.1:9/stream"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(error_of([] { open_frames({.input = "/dev/video97"}); }).first, Reason::source_lost);
  EXPECT_EQ(error_of([] { open_frames({.input = "http://a/b.mp4"}); }).first, Reason::bad_option);
}

}  // namespace
}  // namespace skyfix
