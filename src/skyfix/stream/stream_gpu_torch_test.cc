// A stream on a GPU, in small. Skipped, aloud, without one.
#include <gmock/gmock.h>

#include <filesystem>

#include "skyfix/memory/cuda_library.h"
#include "skyfix/stream/reconstructor_testing.h"

namespace skyfix {
namespace {
using testing::MadeSource;

constexpr int kFrames = 12, kCut = 7;
constexpr int kWidth = 70, kHeight = 56;

using Predictions = std::vector<StreamPrediction>;

class StreamOnGpu : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
    static const CudaDevice opened = open_cuda_device();
  }

  static std::shared_ptr<const Gct> on_gpu(Precision precision) {
    GctOptions options;
    options.placement = {DeviceKind::cuda, precision};
    return std::make_shared<const Gct>(make_synthetic_source(), gct_tiny(), options);
  }

  static void push(StreamSession& session, int from, int to, Predictions& found) {
    for (int frame = from; frame < to; ++frame) {
      const Image picture = MadeSource::picture(kWidth, kHeight, frame);
      session.push({picture.pixels.data(), kWidth, kHeight, 3},
                   [&](StreamPrediction&& each) { found.push_back(std::move(each)); });
    }
    if (to < kFrames) return;
    session.finish([&](StreamPrediction&& each) { found.push_back(std::move(each)); });
  }

  static Predictions stream(const std::shared_ptr<const Gct>& network,
                            const StreamOptions& options) {
    Predictions found;
    StreamSession session(network, options, kFrames);
    push(session, 0, kFrames, found);
    return found;
  }

  static Predictions cut_stream(const std::shared_ptr<const Gct>& network,
                                const StreamOptions& options) {
    const auto file = std::filesystem::path(::testing::TempDir()) / "stream_on_gpu.ckpt";
    Predictions found;
    StreamSession first(network, options, kFrames), second(network, options, kFrames);
    push(first, 0, kCut, found);
    first.save(file);
    second.restore(file);
    push(second, kCut, kFrames, found);
    std::filesystem::remove(file);
    return found;
  }

  static void expect_equal(const Predictions& found, const Predictions& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].position, wanted[i].position);
      EXPECT_EQ(found[i].pose, wanted[i].pose) << i;
      EXPECT_EQ(found[i].depth, wanted[i].depth) << i;
      EXPECT_EQ(found[i].confidence, wanted[i].confidence) << i;
    }
  }
};

// Offloaded or not, in one piece or cut by a checkpoint: equal to the bit, with full windows, non-
// keyframes, special tokens of evicted frames and windows that begin anew.
TEST_P(StreamOnGpu, EveryWayOfTakingResultsGivesTheSame) {
  const auto network = on_gpu(GetParam());
  StreamOptions streaming{.num_scale_frames = 2, .window = 3, .keyframe_interval = 2};
  StreamOptions windowed = streaming;
  windowed.mode = StreamMode::windowed;
  windowed.window_frames = 4;
  for (const StreamOptions& options : {streaming, windowed}) {
    StreamOptions offloaded = options;
    offloaded.offload_to_cpu = true;
    const Predictions wanted = stream(network, options);
    ASSERT_EQ(wanted.size(), std::size_t{kFrames});
    expect_equal(stream(network, offloaded), wanted);
    expect_equal(cut_stream(network, options), wanted);
    expect_equal(cut_stream(network, offloaded), wanted);
  }
}

TEST_P(StreamOnGpu, AgreesWithTheCpu) {
  const StreamOptions options{.num_scale_frames = 2, .window = 3, .keyframe_interval = 2};
  const Predictions found = stream(on_gpu(GetParam()), options);
  const Predictions wanted = stream(testing::tiny(), options);
  const double tolerance = GetParam() == Precision::fp32 ? 1e-3 : 5e-2;
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].keys_seen, wanted[i].keys_seen);
    for (int c = 0; c < 9; ++c) EXPECT_NEAR(found[i].pose[c], wanted[i].pose[c], tolerance) << i;
    double off = 0;
    for (std::size_t p = 0; p < wanted[i].depth.size(); ++p) {
      off += std::abs(found[i].depth[p] / wanted[i].depth[p] - 1);
    }
    EXPECT_LE(off / double(wanted[i].depth.size()), tolerance) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, StreamOnGpu,
                         ::testing::Values(Precision::fp32, Precision::bf16));

}  // namespace
}  // namespace skyfix
