#include "skyfix/models/mast3r/mast3r_grid.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_mast3r.h"
#include "skyfix/models/mast3r/testing.h"

namespace skyfix {
namespace {

using ::testing::HasSubstr;

class Mast3rGridGoldens : public mast3r::Goldens {};

Reason reason_of(int width, int height, int long_side) {
  try {
    mast3r_grid(width, height, long_side);
  } catch (const Error& error) {
    return error.reason();
  }
  return Reason::internal;
}

TEST_F(Mast3rGridGoldens, PictureEqualsThemBitForBit) {
  const auto goldens = open("preprocess.safetensors");
  int cases = 0;
  for (const auto& [name, facts] : manifest_.at("preprocess").at("cases").items()) {
    SCOPED_TRACE(name);
    const BytePicture source = picture(*goldens, name + ".source");
    const Mast3rGrid grid =
        mast3r_grid(source.width, source.height, facts.at("long_side"), /*square_to_4_3=*/true);
    EXPECT_EQ(grid.resized_width, facts.at("resized_wh")[0]);
    EXPECT_EQ(grid.resized_height, facts.at("resized_wh")[1]);
    EXPECT_EQ(grid.left, facts.at("crop_box_ltrb")[0].get<double>());
    EXPECT_EQ(grid.top, facts.at("crop_box_ltrb")[1].get<double>());
    const BytePicture found = mast3r_picture(source.view(), grid);
    const BytePicture golden = picture(*goldens, name + ".cropped");
    EXPECT_EQ(found.width, golden.width);
    EXPECT_EQ(found.height, golden.height);
    EXPECT_EQ(found.pixels, golden.pixels);
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

TEST(Mast3rGridTest, KeepsASquareUnlessAsked) {
  EXPECT_EQ(mast3r_grid(700, 700, 512).height, 512);
  EXPECT_EQ(mast3r_grid(700, 700, 512, true).height, 384);
  EXPECT_EQ(mast3r_grid(700, 700, 512, true).width, 512);
  EXPECT_EQ(mast3r_grid(800, 600, 512, true).height, 384);
}

TEST(Mast3rGridTest, HasTheSizeThatThePlanReckonsWith) {
  for (const auto& [width, height] : {std::pair(4000, 3000),
                                      {3000, 4000},
                                      {5472, 3648},
                                      {640, 480},
                                      {192, 141},
                                      {192, 143},
                                      {777, 190}}) {
    for (const int long_side : {96, 512, 1024}) {
      const Mast3rGrid grid = mast3r_grid(width, height, long_side);
      const Mast3rInput input = mast3r_input(width, height, long_side);
      EXPECT_EQ(grid.width, input.width) << width << " " << height << " " << long_side;
      EXPECT_EQ(grid.height, input.height) << width << " " << height << " " << long_side;
    }
  }
}

TEST(Mast3rGridTest, MapsPlacesBothWays) {
  const Mast3rGrid grid = mast3r_grid(4001, 2999, 512);
  EXPECT_EQ(grid.resized_height, 384);
  // The photo's corner is the resized picture's corner.
  EXPECT_DOUBLE_EQ(grid.to_network({0, 0}).x, -grid.left);
  EXPECT_DOUBLE_EQ(grid.to_network({4001, 2999}).y, grid.resized_height - grid.top);
  const Mast3rPlace back = grid.to_photo(grid.to_network({1234.5, 678.25}));
  EXPECT_NEAR(back.x, 1234.5, 1e-9);
  EXPECT_NEAR(back.y, 678.25, 1e-9);
  // The two scales differ.
  EXPECT_NE(4001.0 / 512, 2999.0 / 384);
}

TEST(Mast3rGridTest, FindsThePixelOfAPlace) {
  const Mast3rGrid grid = mast3r_grid(211, 157, 96);  // 96 x 71, cut 3 rows at the top to 64
  for (const std::int64_t pixel : {std::int64_t{0}, std::int64_t{95}, std::int64_t{96},
                                   std::int64_t{3000}, grid.pixels() - 1}) {
    EXPECT_EQ(grid.pixel_at(grid.centre_of(pixel)), pixel);
  }
  EXPECT_EQ(grid.pixel_at(grid.to_photo({12.999, 5.001})), 5 * 96 + 12);
  EXPECT_EQ(grid.pixel_at(grid.to_photo({13.001, 5.999})), 5 * 96 + 13);
}

TEST(Mast3rGridTest, KnowsPlacesOutside) {
  const Mast3rGrid grid = mast3r_grid(211, 157, 96);
  EXPECT_EQ(grid.pixel_at({100, 1}), -1);  // cut off above
  EXPECT_EQ(grid.pixel_at({100, 156}), -1);
  EXPECT_EQ(grid.pixel_at({-0.01, 80}), -1);
  EXPECT_EQ(grid.pixel_at({211.01, 80}), -1);
  EXPECT_EQ(grid.pixel_at({std::numeric_limits<double>::quiet_NaN(), 80}), -1);
  EXPECT_EQ(grid.pixel_at({1e300, 80}), -1);
  EXPECT_EQ(grid.pixel_at({0, 80}) % 96, 0);
}

TEST(Mast3rGridTest, RefusesWhatLeavesNoPatch) {
  EXPECT_EQ(reason_of(1, 1000, 512), Reason::image_too_small);
  EXPECT_EQ(reason_of(0, 0, 512), Reason::image_too_small);
  EXPECT_EQ(reason_of(3400, 100, 512), Reason::image_too_small);  // 512 x 15
  EXPECT_EQ(reason_of(100, 100, 15), Reason::bad_option);
  EXPECT_EQ(reason_of(100, 100, 5000), Reason::bad_option);
}

TEST(Mast3rGridTest, TakesTheSmallestAndTheLongest) {
  EXPECT_EQ(mast3r_grid(1, 1, 16).width, 16);
  const Mast3rGrid strip = mast3r_grid(2000, 100, 512);  // 20:1
  EXPECT_EQ(strip.width, 512);
  EXPECT_EQ(strip.height, 16);
}

}  // namespace
}  // namespace skyfix
