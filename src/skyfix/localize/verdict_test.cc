#include "skyfix/localize/verdict.h"

#include <gtest/gtest.h>

namespace skyfix {
namespace {

// A pose that nobody would doubt.
VerdictInput good() {
  VerdictInput input;
  input.found = true;
  input.inliers = 200;
  input.first_inliers = 150;
  input.log10_false_alarms = -200;
  input.coverage = 0.8;
  input.expected = 400;
  input.support = 0.5;
  input.alternative_inliers = 6;
  return input;
}

TEST(Verdict, AcceptsAGoodPose) { EXPECT_FALSE(judge(good(), {}).refusal.has_value()); }

TEST(Verdict, RefusesEachWeaknessByItsOwnReason) {
  const auto refusal = [](auto spoil) {
    VerdictInput input = good();
    spoil(input);
    return judge(input, {}).refusal;
  };
  EXPECT_EQ(refusal([](auto& i) { i.found = false; }), Reason::no_pose_found);
  EXPECT_EQ(refusal([](auto& i) { i.inliers = 7; }), Reason::too_few_inliers);
  EXPECT_EQ(refusal([](auto& i) { i.log10_false_alarms = -1; }), Reason::too_few_inliers);
  EXPECT_EQ(refusal([](auto& i) { i.coverage = 0.01; }), Reason::low_coverage);
  EXPECT_EQ(refusal([](auto& i) { i.support = 0.01; }), Reason::too_few_inliers);
  EXPECT_EQ(refusal([](auto& i) { i.alternative_inliers = 140; }), Reason::ambiguous_place);
  EXPECT_EQ(refusal([](auto& i) { i.behind_share = 0.9; }), Reason::implausible_pose);
  EXPECT_EQ(refusal([](auto& i) { i.distance_ratio = 50; }), Reason::implausible_pose);
  EXPECT_EQ(refusal([](auto& i) { i.distance_ratio = 0.01; }), Reason::implausible_pose);
}

TEST(Verdict, SaysWhichFiguresDecided) {
  VerdictInput input = good();
  input.inliers = 7;
  EXPECT_NE(judge(input, {}).text.find("7 inliers"), std::string::npos);
}

TEST(Verdict, RejectsOptionsOutOfRange) {
  VerdictOptions options;
  options.min_coverage = 1.5;
  EXPECT_THROW(options.validate(), Error);
  options = {};
  options.min_inliers = 2;
  EXPECT_THROW(options.validate(), Error);
  EXPECT_NO_THROW(VerdictOptions().validate());
}

}  // namespace
}  // namespace skyfix
