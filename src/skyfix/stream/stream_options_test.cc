#include "skyfix/stream/stream_options.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {
using ::testing::HasSubstr;

std::string refusal(const StreamOptions& options) {
  try {
    options.validate();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    return error.what();
  }
  return "";
}

TEST(StreamOptions, NamesAreReadBack) {
  EXPECT_EQ(stream_mode_from_name("windowed"), StreamMode::windowed);
  EXPECT_THROW(stream_mode_from_name("window"), Error);
}

TEST(StreamOptions, RefusalsNameTheOption) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({.num_scale_frames = 0}), HasSubstr("--num-scale-frames is 0"));
  EXPECT_THAT(refusal({.window = 0}), HasSubstr("--window is 0"));
  EXPECT_THAT(refusal({.keyframe_interval = -1}), HasSubstr("--keyframe-interval"));
  EXPECT_THAT(refusal({.motion_px = -1}), HasSubstr("--keyframe-motion"));
  EXPECT_THAT(refusal({.window_frames = 0}), HasSubstr("--window-size"));
  StreamOptions overlap;
  overlap.overlap_frames = -1;
  EXPECT_THAT(refusal(overlap), HasSubstr("--overlap-size"));
}

}  // namespace
}  // namespace skyfix
