#include "skyfix/localize/peak_search.h"

#include <gmock/gmock.h>

#include <cmath>

namespace skyfix {
namespace {

constexpr int kDimension = 3;
using Vector = Eigen::Vector2f;

// A field of unit rows that points along the first axis at `top` and leans away from it with the
// squared distance, so that the cosine falls smoothly.
struct Field {
  Vector top;
  int samples = 0;
  std::vector<float> operator()(std::span<const float> xy) {
    std::vector<float> rows;
    for (std::size_t i = 0; i + 1 < xy.size(); i += 2) {
      ++samples;
      const float angle = 0.08f * (Vector(xy[i], xy[i + 1]) - top).norm();
      rows.insert(rows.end(), {std::cos(angle), std::sin(angle), 0});
    }
    return rows;
  }
};

std::vector<std::optional<Peak>> search(Field& field, const std::vector<Vector>& centres,
                                        double radius_px, double step_px, double min_score = 0.5) {
  std::vector<float> wanted;
  for (std::size_t i = 0; i < centres.size(); ++i) wanted.insert(wanted.end(), {1, 0, 0});
  return find_peaks(centres, wanted, kDimension, radius_px, step_px, min_score,
                    [&](std::span<const float> xy) { return field(xy); });
}

TEST(PeakSearch, FindsThePeakBetweenSamples) {
  Field field{{11.3f, 20.8f}};
  const auto peaks = search(field, {{10, 22}}, 4, 1);
  ASSERT_TRUE(peaks[0].has_value());
  EXPECT_NEAR(peaks[0]->xy.x(), 11.3, 0.02);
  EXPECT_NEAR(peaks[0]->xy.y(), 20.8, 0.02);
  EXPECT_GT(peaks[0]->score, 0.99f);
  EXPECT_EQ(field.samples, 81);
}

TEST(PeakSearch, AFinerStepFindsItToo) {
  Field field{{11.3f, 20.8f}};
  const auto peaks = search(field, {{11, 21}}, 1, 0.25);
  ASSERT_TRUE(peaks[0].has_value());
  EXPECT_NEAR(peaks[0]->xy.x(), 11.3, 0.02);
  EXPECT_EQ(field.samples, 81);
}

TEST(PeakSearch, OnTheRimItIsNoPeak) {
  Field field{{18, 22}};
  EXPECT_FALSE(search(field, {{10, 22}}, 4, 1)[0].has_value());
  EXPECT_TRUE(search(field, {{10, 22}}, 9, 1)[0].has_value());
}

TEST(PeakSearch, UnlikeOrUndescribedPlacesAreNoPeaks) {
  Field field{{10, 22}};
  EXPECT_FALSE(search(field, {{10, 22}}, 4, 1, 1.01)[0].has_value());
  const auto nothing = [](std::span<const float> xy) {
    return std::vector<float>(xy.size() / 2 * kDimension, 0.0f);
  };
  const std::vector<Vector> centres = {{10, 22}};
  const std::vector<float> wanted = {1, 0, 0};
  EXPECT_FALSE(find_peaks(centres, wanted, kDimension, 4, 1, 0.5, nothing)[0].has_value());
  const auto unknown = [](std::span<const float> xy) {
    return std::vector<float>(xy.size() / 2 * kDimension, NAN);
  };
  EXPECT_FALSE(find_peaks(centres, wanted, kDimension, 4, 1, 0.5, unknown)[0].has_value());
}

// More centres than are sampled at once, each with its own descriptor.
TEST(PeakSearch, ManyCentresAreSearchedInParts) {
  Field field{{50.25f, 50.3f}};
  std::vector<Vector> centres;
  for (int i = 0; i < 2000; ++i) centres.emplace_back(float(i % 100), float(i / 20));
  const auto peaks = search(field, centres, 4, 1);
  ASSERT_EQ(peaks.size(), centres.size());
  int found = 0;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    // The best of 9 x 9 samples is inside when the top is nearer than the rim's half step.
    const Vector off = (centres[i] - field.top).cwiseAbs();
    EXPECT_EQ(peaks[i].has_value(), off.maxCoeff() < 3.5f) << centres[i].transpose();
    if (!peaks[i]) continue;
    ++found;
    EXPECT_NEAR((peaks[i]->xy - field.top).norm(), 0, 0.03);
  }
  EXPECT_GT(found, 5);
  EXPECT_TRUE(search(field, {}, 4, 1).empty());
}

}  // namespace
}  // namespace skyfix
