#include "skyfix/stream/sky.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;

class Sky : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        ("sky_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  // The upper half black: sky.
  void write_mask(const std::string& name, int width, int height) {
    Image mask{width, height, 1, std::vector<std::uint8_t>(std::size_t(width) * height, 255)};
    std::fill(mask.pixels.begin(), mask.pixels.begin() + mask.pixels.size() / 2, 0);
    write_png(folder_ / name, mask);
  }
  std::vector<std::uint8_t> sky(const std::string& frame, std::string* note = nullptr) {
    const std::vector<float> ones(std::size_t(map_.network_width) * map_.network_height, 1.0F);
    return sky_of({.mask_folder = folder_}, frame, 4, map_, ones, ones, note);
  }
  int share(const std::vector<std::uint8_t>& sky) {
    return static_cast<int>(100 * std::count(sky.begin(), sky.end(), 1) /
                            std::max<std::size_t>(sky.size(), 1));
  }

  fs::path folder_;
  GctFrameMap map_ = gct_frame_map(1120, 840, 112);
};

TEST_F(Sky, MasksAreFoundByTheFramesNameOrItsNumber) {
  write_mask("a.png", 112, 84);
  write_mask("frame_000004.png", 1120, 840);
  EXPECT_EQ(share(sky("a.jpg")), 50);
  EXPECT_EQ(share(sky("deep/a.jpg")), 50);
  EXPECT_EQ(share(sky("clip.mp4#000005")), 50) << "of the source's size";
  EXPECT_EQ(sky("a.jpg")[0], 1) << "the top is sky";
}

TEST_F(Sky, AFrameWithoutAMaskLosesNothingAndSaysSo) {
  std::string note;
  EXPECT_TRUE(sky("b.jpg", &note).empty());
  EXPECT_THAT(note, ::testing::HasSubstr("b.jpg"));
}

TEST_F(Sky, AMaskOfAnotherSizeIsRefused) {
  write_mask("a.png", 50, 50);
  EXPECT_THROW(sky("a.jpg"), Error);
}

TEST_F(Sky, TheRuleTakesWhatIsFarUncertainAndAbove) {
  const GctFrameMap map = gct_frame_map(56, 56, 56);
  std::vector<float> depth(56 * 56, 1.0F), confidence(56 * 56, 2.0F);
  depth[3] = depth[4] = depth[55 * 56] = 100;
  confidence[4] = 9;
  const auto found = sky_of({.by_confidence = true}, "a", 0, map, depth, confidence, nullptr);
  EXPECT_EQ(std::count(found.begin(), found.end(), 1), 1);
  EXPECT_EQ(found[3], 1);
  EXPECT_TRUE(sky_of({}, "a", 0, map, depth, confidence, nullptr).empty());
}

}  // namespace
}  // namespace skyfix
