#include "skyfix/report/name_matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyfix {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(NameMatching, FullNamesWinOverBaseNames) {
  const auto matching = match_names({"left/1.jpg", "right/1.jpg"}, {"right/1.jpg", "left/1.jpg"});
  EXPECT_THAT(matching.b_of_a, ElementsAre(Optional(1u), Optional(0u)));
  EXPECT_THAT(matching.unmatched_a, IsEmpty());
  EXPECT_THAT(matching.unmatched_b, IsEmpty());
}

TEST(NameMatching, UniqueBaseNamesMatchAcrossFolders) {
  const auto matching = match_names({"query/1.jpg", "2.jpg"}, {"2.jpg", "images/query/1.jpg"});
  EXPECT_THAT(matching.b_of_a, ElementsAre(Optional(1u), Optional(0u)));
}

TEST(NameMatching, EqualBaseNamesAreNotGuessed) {
  const auto matching = match_names({"left/1.jpg", "right/1.jpg"}, {"1.jpg"});
  EXPECT_THAT(matching.b_of_a, ElementsAre(std::nullopt, std::nullopt));
  ASSERT_EQ(matching.unmatched_a.size(), 2u);
  EXPECT_EQ(matching.unmatched_a[0].why, "several have this base name");
  EXPECT_EQ(matching.unmatched_b[0].why, "several have this base name");
  // Nor is the one left over when another of the same base name matched in full.
  const auto partly = match_names({"left/1.jpg", "1.jpg"}, {"1.jpg", "up/1.jpg"});
  EXPECT_THAT(partly.b_of_a, ElementsAre(std::nullopt, Optional(0u)));
}

TEST(NameMatching, OffersTheNearestName) {
  const auto matching = match_names({"DJI_0020.jpg"}, {"DJI_0020.JPG", "DJI_0099.JPG"});
  ASSERT_EQ(matching.unmatched_a.size(), 1u);
  EXPECT_EQ(matching.unmatched_a[0].nearest, "DJI_0020.JPG");
  ASSERT_EQ(matching.unmatched_b.size(), 2u);
  EXPECT_EQ(matching.unmatched_b[0].nearest, "DJI_0020.jpg");
  EXPECT_EQ(matching.unmatched_b[0].why, "no such name");
  EXPECT_EQ(match_names({"a"}, {"zzzzzzzz"}).unmatched_a[0].nearest, std::nullopt);
}

}  // namespace
}  // namespace skyfix
