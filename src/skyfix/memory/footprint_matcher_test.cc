#include "skyfix/memory/footprint_matcher.h"

#include <gmock/gmock.h>

#include <string>

namespace skyfix {
namespace {

const MatcherShape kSift = {
    .dimension = 128, .query_rows = 20'000, .reference_rows = 1'024, .references = 15};

std::uint64_t of(const std::vector<ComponentNeed>& needs, const std::string& owner) {
  for (const ComponentNeed& need : needs) {
    if (need.owner == owner) return need.device_bytes();
  }
  return 0;
}

TEST(MatcherFootprint, RowsCarryAMaskAndAMapPoint) {
  EXPECT_EQ(matcher_rows_bytes(kSift, 1), 128U * 4 + 256 + 256);
  EXPECT_EQ(matcher_rows_bytes(kSift, 64), 64U * (128 * 4 + 8));
  MatcherShape half = kSift;
  half.type = DataType::bf16;
  EXPECT_EQ(matcher_rows_bytes(half, 64), 64U * (128 * 2 + 8));
  half.reference_extra_bytes = 77;
  EXPECT_EQ(reference_bytes(half), matcher_rows_bytes(half, 1'024) + 77);
}

TEST(MatcherFootprint, NeedsByOwner) {
  const auto needs =
      matcher_needs(kSift, {.cache_references = 8, .chunk_rows = 4'096, .batch_references = 15});
  EXPECT_EQ(of(needs, "reference descriptors"), 8U * 532'480);
  EXPECT_EQ(of(needs, "query descriptors"), 4'096U * 520 * 9 / 8);
  // Seven references beyond the cache; keys and scores of all rows.
  EXPECT_EQ(of(needs, "matcher"), 7U * 532'480 * 9 / 8 + 12U * (20'000 + 15'360));
}

TEST(MatcherFootprint, ACacheOfNothingIsNoOwner) {
  const auto needs =
      matcher_needs(kSift, {.cache_references = 0, .chunk_rows = 20'000, .batch_references = 1});
  EXPECT_EQ(of(needs, "reference descriptors"), 0U);
  EXPECT_EQ(needs.size(), 2U);
  EXPECT_EQ(of(needs, "matcher"), 532'480U * 9 / 8 + 12U * 35'360);
}

TEST(MatcherFootprint, ACacheLargerThanThePoolLeavesNothingBeyond) {
  const auto needs =
      matcher_needs(kSift, {.cache_references = 20, .chunk_rows = 20'000, .batch_references = 15});
  EXPECT_EQ(of(needs, "matcher"), 12U * 35'360);
}

}  // namespace
}  // namespace skyfix
