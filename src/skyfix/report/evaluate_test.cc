#include "skyfix/report/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "skyfix/report/evaluate_testing.h"

namespace skyfix {
namespace {

using report_testing::moved;
using report_testing::reference_of;
using report_testing::sample_bad_fix;
using ::testing::HasSubstr;

TEST(Evaluate, MeasuresErrorsInTheModelsFrame) {
  const Reference reference = reference_of({"a", "b"});
  const Evaluation evaluation = evaluate({moved(reference.queries[0], {0.3, -0.4, 0}, 1),
                                          moved(reference.queries[1], {0, 0, -1.2}, 3, 2)},
                                         reference);
  EXPECT_EQ(evaluation.compared, 2u);
  ASSERT_TRUE(evaluation.frames[0].error);
  EXPECT_NEAR(evaluation.frames[0].error->horizontal, 0.5, 1e-9);
  EXPECT_NEAR(evaluation.frames[0].error->vertical, 0, 1e-9);
  EXPECT_NEAR(evaluation.frames[1].error->vertical, 1.2, 1e-9);
  EXPECT_NEAR(evaluation.frames[1].error->rotation_deg, 3, 1e-6);
  EXPECT_NEAR(*evaluation.horizontal.rmse, std::sqrt(0.25 / 2), 1e-9);
  EXPECT_NEAR(*evaluation.vertical.rmse, std::sqrt(1.44 / 2), 1e-9);
  EXPECT_NEAR(*evaluation.position.rmse, std::sqrt((0.25 + 1.44) / 2), 1e-9);
  EXPECT_NEAR(*evaluation.position.max, 1.2, 1e-9);
  EXPECT_NEAR(*evaluation.rotation_deg.median, 2, 1e-6);
}

TEST(Evaluate, RecallNeedsBothLimitsAndCountsWhatIsMissing) {
  const Reference reference = reference_of({"a", "b", "c", "d", "e"});
  const auto& q = reference.queries;
  const Evaluation evaluation =
      evaluate({moved(q[0], {0.2, 0, 0}, 1, 1),
                moved(q[1], {0.2, 0, 0}, 3, 2),
                moved(q[2], {0, 0, 4}, 0, 3),
                {sample_bad_fix("d", 4, FixStatus::failed, Reason::out_of_memory), {}}},
               reference);
  EXPECT_EQ(evaluation.recall[0].recalled, 1u);
  EXPECT_EQ(evaluation.recall[1].recalled, 2u);
  EXPECT_EQ(evaluation.recall[2].recalled, 3u);
}

TEST(Evaluate, WarnsOfAnotherFrame) {
  const Reference reference = reference_of({"a"});
  const Evaluation evaluation = evaluate({moved(reference.queries[0], {5e5, 0, 0}, 0)}, reference);
  ASSERT_EQ(evaluation.warnings.size(), 1u);
  EXPECT_THAT(evaluation.warnings[0], HasSubstr("without alignment"));
}

}  // namespace
}  // namespace skyfix
