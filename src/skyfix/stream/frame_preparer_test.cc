#include "skyfix/stream/frame_preparer.h"

#include <gmock/gmock.h>

namespace skyfix {
namespace {

class CountingSource : public FrameSource {
 public:
  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    if (stopped_ || given == most) return std::nullopt;
    if (given == fail_at) throw Error(Reason::source_lost, "gone");
    SourceFrame frame;
    frame.index = ++given;
    frame.pixels = {28, 14, 3, std::vector<std::uint8_t>(28 * 14 * 3, 9)};
    if (frame.index == 2) frame.pixels = {2000, 1, 3, std::vector<std::uint8_t>(6000)};
    return frame;
  }
  void stop() override { stopped_ = true; }
  FrameSourceFigures figures() const override { return {}; }

  std::atomic<std::int64_t> given{0};
  std::int64_t most = 5, fail_at = -1;

 private:
  FrameSourceInfo info_;
  std::atomic<bool> stopped_{false};
};

TEST(FramePreparer, GivesEveryFrameInOrderWithItsPictureOrItsReason) {
  CountingSource source;
  std::atomic<bool> cancel{false};
  FramePreparer preparer(source, {.image_size = 28});
  for (std::int64_t i = 1; i <= 5; ++i) {
    const auto frame = preparer.next(cancel);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->source.index, i);
    EXPECT_EQ(frame->source.failure.has_value(), i == 2) << "too flat for a row of patches";
    EXPECT_EQ(frame->picture.width, i == 2 ? 0 : 28);
    EXPECT_TRUE(frame->source.pixels.pixels.empty()) << "only the small picture is kept";
  }
  EXPECT_FALSE(preparer.next(cancel));
}

TEST(FramePreparer, ReadsAheadButNotWithoutEnd) {
  CountingSource source;
  source.most = 1000;
  std::atomic<bool> cancel{false};
  FramePreparer preparer(source, {.image_size = 28, .depth = 2});
  ASSERT_TRUE(preparer.next(cancel));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(source.given, 1 + 2 + 1);
  cancel = true;
  EXPECT_FALSE(preparer.next(cancel));
}

TEST(FramePreparer, AFailureOfTheSourceComesAfterTheFramesBeforeIt) {
  CountingSource source;
  source.fail_at = 3;
  std::atomic<bool> cancel{false};
  FramePreparer preparer(source, {.image_size = 28});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(preparer.next(cancel));
  EXPECT_THROW(preparer.next(cancel), Error);
}

}  // namespace
}  // namespace skyfix
