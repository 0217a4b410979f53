// Memory that runs out in the middle of a stream, at any request: the session is then as it was
// before the frame, and a run loses nothing that it has written.
#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include "skyfix/stream/reconstructor_testing.h"

namespace skyfix {
namespace {
using ::testing::HasSubstr;
using testing::MadeSource;
using testing::Outcome;
using testing::run;
using testing::small;
using testing::tiny;

// LibTorch's host memory while it lives: refuses on request.
class RefusingMemory : public c10::Allocator {
 public:
  enum class Answer { no_memory, broken };

  RefusingMemory() : real_(c10::GetAllocator(c10::kCPU)) {
    c10::SetAllocator(c10::kCPU, this, kPriority);
  }
  ~RefusingMemory() override { c10::SetAllocator(c10::kCPU, real_, kPriority); }

  // The n-th request from now on (from 1), and `more` after it.
  void refuse(std::int64_t n, std::int64_t more = 0, Answer answer = Answer::no_memory) {
    requests_ = 0;
    first_ = n;
    last_ = n + more;
    answer_ = answer;
  }
  void refuse_nothing() { refuse(0, -1); }
  std::int64_t requests() const { return requests_; }  // since refuse()

  c10::DataPtr allocate(std::size_t bytes) override {
    const std::int64_t request = ++requests_;
    if (request >= first_ && request <= last_) {
      if (answer_ == Answer::broken) TORCH_CHECK(false, "an illegal memory access");
      TORCH_CHECK_WITH(OutOfMemoryError, false, "refused on purpose");
    }
    return real_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static constexpr std::uint8_t kPriority = 200;
  c10::Allocator* real_;
  std::atomic<std::int64_t> requests_{0};
  std::int64_t first_ = 0, last_ = -1;
  Answer answer_ = Answer::no_memory;
};

constexpr int kFrames = 11;
constexpr int kWidth = 42, kHeight = 28;

std::vector<StreamOptions> ways() {
  StreamOptions interval{.num_scale_frames = 2, .window = 2, .keyframe_interval = 2};
  StreamOptions motion = interval;
  motion.keyframe_interval = 0;
  motion.motion_px = 1e-9;  // looks, and is kept after all
  StreamOptions windows = interval;
  windows.mode = StreamMode::windowed;
  windows.window_frames = 4;
  windows.overlap_frames = 3;
  StreamOptions offload = interval;
  offload.offload_to_cpu = true;
  return {interval, motion, windows, offload};
}

using Predictions = std::vector<StreamPrediction>;

StreamSession::Sink into(Predictions& predictions) {
  return [&](StreamPrediction&& each) { predictions.push_back(std::move(each)); };
}

void push(StreamSession& session, int frame, Predictions& predictions) {
  const Image picture = MadeSource::picture(kWidth, kHeight, frame);
  session.push({picture.pixels.data(), kWidth, kHeight, 3}, into(predictions));
}

// The requests for memory that each frame makes, and what comes of them.
std::vector<std::int64_t> undisturbed(const StreamOptions& options, RefusingMemory& memory,
                                      Predictions& predictions) {
  std::vector<std::int64_t> requests;
  StreamSession session(tiny(), options);
  for (int frame = 0; frame < kFrames; ++frame) {
    memory.refuse_nothing();
    push(session, frame, predictions);
    requests.push_back(memory.requests());
  }
  session.finish(into(predictions));
  return requests;
}

// Whether the frame met the refusal; if not, it is done.
bool refused(StreamSession& session, int frame, Predictions& predictions) {
  try {
    push(session, frame, predictions);
  } catch (const OutOfDeviceMemory&) {
    return true;
  }
  return false;
}

TEST(StreamFaults, AFrameThatMemoryRanOutForLeavesNoTrace) {
  RefusingMemory memory;
  for (const StreamOptions& options : ways()) {
    Predictions wanted, found;
    const auto requests = undisturbed(options, memory, wanted);
    StreamSession session(tiny(), options);
    int refusals = 0;
    for (int frame = 0; frame < kFrames; ++frame) {
      bool done = false;
      for (const double share : {0.01, 0.4, 0.8, 1.0}) {
        const auto request = static_cast<std::int64_t>(share * double(requests[frame]));
        if (request < 1 || done) continue;
        memory.refuse(request);
        done = !refused(session, frame, found);
        refusals += !done;
      }
      memory.refuse_nothing();
      if (!done) push(session, frame, found);
    }
    session.finish(into(found));
    EXPECT_GE(refusals, 3 * (kFrames - 1));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].position, wanted[i].position);
      EXPECT_EQ(found[i].role, wanted[i].role);
      EXPECT_EQ(found[i].keys_seen, wanted[i].keys_seen);
      EXPECT_EQ(found[i].pose, wanted[i].pose) << i;
      EXPECT_EQ(found[i].depth, wanted[i].depth) << i;
    }
  }
}

TEST(StreamFaults, ARunComputesSuchAFrameAgainAndSaysSo) {
  RefusingMemory memory;
  MadeSource first(9);
  memory.refuse_nothing();
  const Outcome wanted = run(first, small());
  const std::int64_t requests = memory.requests();
  for (const std::int64_t share : {2, 3, 9}) {
    MadeSource source(9);
    memory.refuse(requests / share);
    const Outcome found = run(source, small());
    ASSERT_EQ(found.frames.size(), 9u);
    int warned = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(found.frames[i].prediction.pose, wanted.frames[i].prediction.pose);
      for (const std::string& each : found.frames[i].warnings) {
        warned += each.find("computed again") != std::string::npos;
      }
    }
    EXPECT_EQ(warned, 1);
    EXPECT_EQ(found.result.ended_by, "");
  }
}

TEST(StreamFaults, ARunWithoutMemoryOrDeviceEndsWithWhatItHas) {
  RefusingMemory memory;
  MadeSource first(9);
  memory.refuse_nothing();
  run(first, small());
  const std::int64_t middle = memory.requests() / 2;
  for (const auto answer : {RefusingMemory::Answer::no_memory, RefusingMemory::Answer::broken}) {
    MadeSource source(9);
    memory.refuse(middle, 1'000'000'000, answer);
    const Outcome found = run(source, small());
    EXPECT_GE(found.frames.size(), 2u);
    EXPECT_LT(found.frames.size(), 9u);
    for (const StreamFrame& frame : found.frames) EXPECT_EQ(frame.status, StreamStatus::ok);
    const bool shortage = answer == RefusingMemory::Answer::no_memory;
    EXPECT_EQ(found.result.ended_reason, shortage ? Reason::out_of_memory : Reason::device_failed);
    EXPECT_THAT(found.result.ended_by, HasSubstr(shortage ? "--window" : "illegal"));
  }
}

}  // namespace
}  // namespace skyfix
