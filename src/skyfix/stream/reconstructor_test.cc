#include "skyfix/stream/reconstructor.h"

#include <gmock/gmock.h>

#include "skyfix/stream/reconstructor_testing.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

using testing::MadeSource;
using testing::Outcome;
using testing::run;
using testing::small;
using testing::tiny;

TEST(Reconstruct, EveryFrameHasOneResultInOrder) {
  MadeSource source(9);
  const Outcome outcome = run(source, small());
  ASSERT_EQ(outcome.frames.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i) {
    const StreamFrame& frame = outcome.frames[i];
    EXPECT_EQ(frame.index, i + 1);
    EXPECT_EQ(frame.status, StreamStatus::ok);
    EXPECT_FALSE(frame.reason);
    EXPECT_EQ(frame.position, i);
    EXPECT_EQ(frame.time_ns, (i + 1) * 1'000'000);
    EXPECT_EQ(frame.prediction.depth.size(), 70u * 56);
    EXPECT_EQ(frame.view.source_camera.width, 70);
    EXPECT_GT(frame.median_confidence, 1);
  }
  EXPECT_EQ(outcome.result.done, 9);
  EXPECT_EQ(outcome.result.ended_by, "");
}

TEST(Reconstruct, FramesThatCannotBeUsedHaveAReasonAndTheStreamGoesOn) {
  MadeSource source(9, [](SourceFrame& frame) {
    if (frame.index == 1 || frame.index == 5) {
      frame.failure = Reason::corrupt_image;
      frame.failure_text = "damaged";
    }
    if (frame.index == 6) frame.pixels = MadeSource::picture(56, 70, 3);   // taller than the stream
    if (frame.index == 7) frame.pixels = MadeSource::picture(140, 56, 3);  // flatter: padded
  });
  const Outcome outcome = run(source, small());
  ASSERT_EQ(outcome.frames.size(), 9u);
  std::string statuses;
  for (const StreamFrame& frame : outcome.frames) statuses += stream_status_name(frame.status)[0];
  EXPECT_EQ(statuses, "fooofrooo");
  EXPECT_EQ(outcome.frames[0].reason, Reason::corrupt_image);
  EXPECT_EQ(outcome.frames[5].reason, Reason::unsupported_image);
  EXPECT_EQ(outcome.frames[6].map.network_height, 56);
  EXPECT_EQ(outcome.frames[6].view.source_camera.width, 140);
  EXPECT_EQ(outcome.frames[8].position, 5);
}

TEST(Reconstruct, OptionsThatCannotBeAreRefusedAtOnce) {
  ReconstructOptions all_shared = small();
  all_shared.stream.mode = StreamMode::windowed;
  all_shared.stream.window_frames = 3;
  all_shared.stream.overlap_keyframes = 3;
  EXPECT_THROW(all_shared.validate(), Error);
  ReconstructOptions nowhere = small();
  nowhere.sky.mask_folder = "/no/such/folder";
  EXPECT_THROW(nowhere.validate(), Error);
  EXPECT_NO_THROW(small().validate());
}

TEST(Reconstruct, ASourceWithoutFramesIsRefused) {
  MadeSource source(0);
  EXPECT_THROW(run(source, small()), Error);
}

TEST(Reconstruct, ASourceThatIsLostEndsTheRunWithWhatThereIs) {
  MadeSource source(9);
  source.lose_after = 5;
  const Outcome outcome = run(source, small());
  EXPECT_EQ(outcome.frames.size(), 5u);
  EXPECT_EQ(outcome.result.ended_reason, Reason::source_lost);
  EXPECT_THAT(outcome.result.ended_by, HasSubstr("cable"));
}

TEST(Reconstruct, WhatTheSinkThrowsComesOut) {
  MadeSource source(9);
  std::atomic<bool> cancel{false};
  NoProgress progress;
  const auto full = [](StreamFrame&&) { throw Error(Reason::unwritable_output, "disk full"); };
  EXPECT_THROW(reconstruct(tiny(), source, small(), full, progress, cancel), Error);
}

ReconstructOptions windowed() {
  ReconstructOptions options = small();
  options.stream.mode = StreamMode::windowed;
  options.stream.keyframe_interval = 1;
  options.stream.window_frames = 6;
  options.stream.overlap_frames = 3;
  return options;
}

// Cut anywhere, with checkpoints or without: the rest is equal to the bit.
TEST(Reconstruct, AResumedRunGivesTheRestToTheBit) {
  const fs::path folder = fs::path(::testing::TempDir()) / "reconstruct_resume";
  for (const ReconstructOptions& base : {small(), windowed()}) {
    MadeSource whole_source(16);
    const Outcome whole = run(whole_source, base);
    ASSERT_EQ(whole.frames.size(), 16u);
    for (const std::int64_t every : {0, 3}) {
      for (const std::int64_t cut : {1, 7, 12}) {
        SCOPED_TRACE(::testing::Message() << every << " " << cut);
        fs::remove_all(folder);
        ReconstructOptions options = base;
        options.checkpoint_every = every;
        options.checkpoint_folder = folder;
        MadeSource first(16);
        const Outcome before = run(first, options, cut);
        EXPECT_TRUE(before.result.cancelled);
        options.recorded_frames = std::ssize(before.frames);
        MadeSource second(16);
        const Outcome after = run(second, options);
        ASSERT_EQ(before.frames.size() + after.frames.size(), 16u);
        for (std::size_t i = 0; i < after.frames.size(); ++i) {
          const StreamFrame& wanted = whole.frames[before.frames.size() + i];
          EXPECT_EQ(after.frames[i].name, wanted.name);
          EXPECT_EQ(after.frames[i].prediction.pose, wanted.prediction.pose);
          EXPECT_EQ(after.frames[i].prediction.depth, wanted.prediction.depth);
          EXPECT_EQ(after.frames[i].picture.pixels, wanted.picture.pixels);
        }
        if (every > 0 && cut > 3) {
          EXPECT_GT(after.result.resumed_from, 0);
        }
        EXPECT_THAT(after.result.resume_note, HasSubstr("checkpoint"));
      }
    }
  }
  fs::remove_all(folder);
}

TEST(Reconstruct, AWindowedRunGoesOnFromTheLastWindowWithoutBeingAsked) {
  const fs::path folder = fs::path(::testing::TempDir()) / "reconstruct_window";
  fs::remove_all(folder);
  ReconstructOptions options = windowed();
  options.checkpoint_folder = folder;
  MadeSource first(16);
  options.recorded_frames = std::ssize(run(first, options, 8).frames);
  MadeSource second(16);
  EXPECT_GE(run(second, options).result.resumed_from, 6);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace skyfix
