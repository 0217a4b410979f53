#include "skyfix/localize/runner.h"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "skyfix/geo/testing.h"
#include "skyfix/localize/world_testing.h"

namespace skyfix {
namespace {

class RunnerTest : public ::testing::Test {
 protected:
  // Runs the batch from after `recorded`; collects the fixes.
  std::vector<Fix> run(const LocalizeOptions& options, std::span<const RecordedFix> recorded = {}) {
    const Localizer localizer(SmallWorld::instance().map(), options, {}, cache_, cpu());
    std::vector<Fix> fixes;
    NoProgress quiet;
    run_batch(
        localizer, photos_, recorded, [&](const Fix& fix) { fixes.push_back(fix); }, quiet,
        cancel_);
    return fixes;
  }
  static std::vector<RecordedFix> recorded(std::span<const Fix> fixes) {
    std::vector<RecordedFix> recorded;
    for (const Fix& fix : fixes) {
      const bool ok = fix.status == FixStatus::ok;
      recorded.push_back({fix.name, fix.index, ok, ok ? fix.pose->cam_from_world : Rigid3()});
    }
    return recorded;
  }

  DescriptorCache cache_{{}, "", ""};
  std::vector<InputPhoto> photos_ = SmallWorld::instance().queries().photos;
  std::atomic<bool> cancel_{false};
};

TEST_F(RunnerTest, OneFixPerPhotoInOrder) {
  const std::vector<Fix> fixes = run({});
  ASSERT_EQ(fixes.size(), photos_.size());
  for (std::size_t i = 0; i < fixes.size(); ++i) EXPECT_EQ(fixes[i].index, photos_[i].index);
  EXPECT_EQ(fixes[0].retrieval.num_temporal_proposed, 0);
  EXPECT_GT(fixes[1].retrieval.num_temporal_proposed, 0);
}

TEST_F(RunnerTest, GoingOnGivesTheSameFixes) {
  for (const int window : {0, 3}) {
    LocalizeOptions options;
    options.ba_window = window;
    const std::vector<Fix> whole = run(options);
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
      const std::vector<Fix> rest = run(options, recorded(std::span(whole).first(cut)));
      ASSERT_EQ(rest.size(), whole.size() - cut);
      for (std::size_t i = 0; i < rest.size(); ++i) {
        ASSERT_EQ(rest[i].status, whole[cut + i].status);
        if (rest[i].status != FixStatus::ok) continue;
        EXPECT_EQ(rest[i].pose->cam_from_world.translation,
                  whole[cut + i].pose->cam_from_world.translation)
            << "window " << window << ", cut " << cut;
      }
    }
  }
}

TEST_F(RunnerTest, CancelStopsBetweenFrames) {
  const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache_, cpu());
  NoProgress quiet;
  int seen = 0;
  const BatchResult result = run_batch(
      localizer, photos_, {},
      [&](const Fix&) {
        ++seen;
        cancel_ = true;
      },
      quiet, cancel_);
  EXPECT_TRUE(result.cancelled);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(result.done, 1u);
}

TEST_F(RunnerTest, AFailingSinkEndsTheRun) {
  const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache_, cpu());
  NoProgress quiet;
  EXPECT_THROW(run_batch(
                   localizer, photos_, {},
                   [](const Fix&) { throw std::runtime_error("disk full"); }, quiet, cancel_),
               std::runtime_error);
}

// Kernels on a device that breaks down in the n-th frame.
class FailingKernels : public MatchKernels {
 public:
  explicit FailingKernels(int frame) : frames_left_(frame) {}
  void check_rows(const DeviceRows& rows, float* bias) override { real_->check_rows(rows, bias); }
  void clear_keys(MatchKey* keys, std::int64_t count) override {
    if (--frames_left_ == 0) throw DeviceFailure("unspecified launch failure");
    real_->clear_keys(keys, count);
  }
  void accumulate(std::span<const MatchWork> work) override { real_->accumulate(work); }
  void decode(MatchKey* keys, float* scores, std::int64_t count) override {
    real_->decode(keys, scores, count);
  }
  void keep_mutual(const MutualWork& work) override { real_->keep_mutual(work); }
  void runner_up(const DeviceRows& query, const std::int64_t* listed, const std::uint32_t* own,
                 std::int64_t count, const DeviceRows& map, const std::uint32_t* group,
                 float* best) override {
    real_->runner_up(query, listed, own, count, map, group, best);
  }

 private:
  std::unique_ptr<MatchKernels> real_ = make_host_match_kernels();
  int frames_left_;
};

TEST_F(RunnerTest, AFailingDeviceEndsTheRunAndKeepsWhatIsRecorded) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  FailingKernels kernels(3);
  PoolMatcher matcher(ledger, kernels, {});
  const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache_, {matcher, &ledger});
  NoProgress quiet;
  int seen = 0;
  const BatchResult result = run_batch(
      localizer, photos_, {}, [&](const Fix&) { ++seen; }, quiet, cancel_);
  EXPECT_EQ(result.device_failure, "unspecified launch failure");
  EXPECT_FALSE(result.cancelled);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(result.done, 2u);
}

TEST_F(RunnerTest, JointRefinementStaysNearTheTruth) {
  LocalizeOptions options;
  options.ba_window = 4;
  for (const Fix& fix : run(options)) {
    ASSERT_EQ(fix.status, FixStatus::ok);
    EXPECT_THAT(fix.pose->cam_from_world,
                PoseNear(SmallWorld::instance().truth(fix.name), 0.4, 0.4));
  }
}

// A source that is lost after its last frame.
class LostSource : public FrameSource {
 public:
  explicit LostSource(std::vector<InputPhoto> photos) : photos_(photo_frames(std::move(photos))) {
    info_.kind = FrameSourceKind::live;
  }
  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    auto frame = photos_->next();
    if (!frame && lost_) throw Error(Reason::source_lost, "the cable is out");
    if (!frame) return std::nullopt;
    frame->time_ns = frame->index * 1000;
    frame->arrived_steady_ns =
        std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    return frame;
  }
  void stop() override {
    lost_ = false;
    photos_->stop();
  }
  FrameSourceFigures figures() const override { return photos_->figures(); }

 private:
  std::unique_ptr<FrameSource> photos_;
  FrameSourceInfo info_;
  std::atomic<bool> lost_{true};
};

TEST_F(RunnerTest, ALostSourceEndsTheRunAndKeepsWhatIsRecorded) {
  const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache_, cpu());
  LostSource source({photos_[0], photos_[1]});
  NoProgress quiet;
  std::vector<std::int64_t> times;
  const BatchResult result = run_batch(
      localizer, source, {},
      [&](const Fix& fix, const SourceFrame& frame) {
        EXPECT_EQ(fix.name, frame.name);
        times.push_back(*frame.time_ns);
        ASSERT_TRUE(fix.telemetry.latency_ms);
        EXPECT_GE(*fix.telemetry.latency_ms, fix.telemetry.timing_ms.at("total"));
      },
      quiet, cancel_);
  EXPECT_EQ(result.done, 2u);
  EXPECT_THAT(times, ::testing::ElementsAre(1000, 2000));
  ASSERT_TRUE(result.source_failure);
  EXPECT_EQ(result.source_failure->reason(), Reason::source_lost);
  EXPECT_FALSE(result.cancelled);
}

// Gives one photo and then waits until it is stopped.
class WaitingSource : public FrameSource {
 public:
  explicit WaitingSource(InputPhoto photo) : photo_(std::move(photo)) {
    info_.kind = FrameSourceKind::live;
  }
  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    std::unique_lock lock(mutex_);
    if (!given_) {
      given_ = true;
      SourceFrame frame;
      frame.name = photo_.name;
      frame.index = photo_.index;
      frame.file = photo_.path;
      return frame;
    }
    changed_.wait(lock, [this] { return stopped_; });
    return std::nullopt;
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  FrameSourceFigures figures() const override { return {}; }

 private:
  InputPhoto photo_;
  FrameSourceInfo info_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
  bool stopped_ = false;
};

TEST_F(RunnerTest, CancelEndsTheWaitingForALiveFrame) {
  const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache_, cpu());
  WaitingSource source(photos_[0]);
  NoProgress quiet;
  const BatchResult result = run_batch(
      localizer, source, {}, [&](const Fix&, const SourceFrame&) { cancel_ = true; }, quiet,
      cancel_);
  EXPECT_EQ(result.done, 1u);
  EXPECT_TRUE(result.cancelled);
}

TEST_F(RunnerTest, ASourceThatGivesOtherFramesIsNotGoneOnWith) {
  const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache_, cpu());
  const std::vector<RecordedFix> recorded = {{"other", 7, false, {}}};
  NoProgress quiet;
  try {
    run_batch(
        localizer, photos_, recorded, [](const Fix&) {}, quiet, cancel_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::run_mismatch);
  }
}

}  // namespace
}  // namespace skyfix
