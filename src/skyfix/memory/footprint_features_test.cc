#include "skyfix/memory/footprint_features.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

using testing::IsEmpty;

constexpr FeatureKind kAll[] = {FeatureKind::sift, FeatureKind::xfeat, FeatureKind::aliked,
                                FeatureKind::mast3r};

TEST(FeatureFootprint, NamesReadBack) {
  for (const FeatureKind kind : kAll) {
    EXPECT_EQ(feature_kind_from_name(feature_kind_name(kind), "--features"), kind);
  }
  EXPECT_THROW(feature_kind_from_name("SIFT", "--features"), Error);
}

TEST(FeatureFootprint, PicturesAreNeverScaledUp) {
  EXPECT_EQ(scaled_pixels(4000, 3000, 1024), 1024 * 768);
  EXPECT_EQ(scaled_pixels(640, 480, 1024), 640 * 480);
  EXPECT_EQ(scaled_pixels(100'000, 1, 1024), 1024);
}

TEST(FeatureFootprint, SiftNeedsTheHostOnly) {
  const auto needs = feature_needs(FeatureKind::sift, 3200 * 1800);
  ASSERT_EQ(needs.size(), 1U);
  EXPECT_EQ(needs[0].device_bytes(), 0U);
  EXPECT_NEAR(needs[0].host_bytes, 1.35e9, 0.01e9);
}

TEST(FeatureFootprint, NetworksStateTheirWeights) {
  EXPECT_EQ(feature_needs(FeatureKind::xfeat, 1).at(0).weights_bytes, 4U * 1'544'758);
  EXPECT_EQ(feature_needs(FeatureKind::aliked, 1).at(0).weights_bytes, 4U * 678'324);
  EXPECT_EQ(glue_needs(FeatureKind::xfeat, 1, 1).at(0).weights_bytes, 4U * 1'125'995);
  EXPECT_EQ(glue_needs(FeatureKind::aliked, 1, 1).at(0).weights_bytes, 4U * 11'884'625);
  EXPECT_THAT(glue_needs(FeatureKind::sift, 1, 1), IsEmpty());
  EXPECT_THAT(glue_needs(FeatureKind::mast3r, 1, 1), IsEmpty());
}

// 128 channels at 1024 x 576 are 302 MB: the model must stay below that, as it never makes them.
TEST(FeatureFootprint, AlikedStaysBelowItsDenseMap) {
  const std::uint64_t bytes = feature_needs(FeatureKind::aliked, 1024 * 576).at(0).workspace_bytes;
  EXPECT_LT(bytes, 302'000'000U);
  EXPECT_GT(bytes, 1024U * 576 * 16 * 4);
}

TEST(FeatureFootprint, AnAssignmentOfManyRowsDoesNotOverflow) {
  const ComponentNeed need = glue_needs(FeatureKind::aliked, 1'000'000, 1'000'000).at(0);
  EXPECT_GT(need.workspace_bytes, 12'000'000'000'000U);
}

}  // namespace
}  // namespace skyfix
