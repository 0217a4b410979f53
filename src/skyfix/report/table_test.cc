#include "skyfix/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AlignedTable, CountsCharactersAndLeavesNoBlanksAtTheEnd) {
  EXPECT_EQ(aligned_table({{"name"}, {"m", true}, {"note"}},
                          {{"höhe", "1.5", ""}, {"b\tx", "12.25", "far"}, {"short"}}),
            "name       m  note\n"
            "-----  -----  ----\n"
            "höhe     1.5\n"
            "b?x    12.25  far\n"
            "short\n");
}

TEST(EvaluationTable, SaysWhatWasComparedAndWhatWasNot) {
  Reference reference;
  reference.dataset = "field";
  const Fix ok = sample_ok_fix("a.jpg", 1);
  reference.queries = {{"a.jpg", ok.pose->cam_from_world}, {"b.jpg", {}}, {"c.jpg", {}}};
  const Evaluation evaluation =
      evaluate({{ok, {}},
                {sample_bad_fix("b.jpg", 2, FixStatus::rejected, Reason::low_coverage), {}},
                {sample_ok_fix("d.jpg", 3), {}}},
               reference);
  EXPECT_THAT(evaluation_table(evaluation, reference),
              AllOf(HasSubstr("a.jpg  ok                              0.000       0.000  0.000"),
                    HasSubstr("b.jpg  rejected (low_coverage)             -           -      -"),
                    HasSubstr("c.jpg  no record"), HasSubstr("recall at 0.25 m, 2 deg: 1 of 3"),
                    HasSubstr("3 frames: 2 ok, 1 rejected, 0 failed, 0 skipped"),
                    HasSubstr("1 references without a frame:\n  c.jpg: no such name"),
                    HasSubstr("1 frames without a reference:\n  d.jpg: no such name"),
                    HasSubstr("no alignment")));
}

TEST(EvaluationTable, ArbitraryUnitsHaveNoHorizontalColumn) {
  Reference reference;
  reference.metric = false;
  reference.path_length = 100;
  const Fix ok = sample_ok_fix("a.jpg", 1);
  reference.queries = {{"a.jpg", ok.pose->cam_from_world}};
  EXPECT_THAT(evaluation_table(evaluate({{ok, {}}}, reference), reference),
              AllOf(HasSubstr("3D % of path"), Not(HasSubstr("horizontal"))));
}

TEST(RunSummary, ListsFramesWithoutAFix) {
  std::vector<Record> records = {{sample_ok_fix("a.jpg", 1), {}}};
  EXPECT_EQ(run_summary(records),
            "1 frames: 1 ok, 0 rejected, 0 failed, 0 skipped; 0 for want of memory\n");
  for (int i = 0; i < 30; ++i) {
    records.push_back({sample_bad_fix("bad.jpg", i, FixStatus::failed, Reason::no_features), {}});
  }
  EXPECT_THAT(run_summary(records), AllOf(HasSubstr("bad.jpg              failed  no_features"),
                                          HasSubstr("and 10 more")));
}

}  // namespace
}  // namespace skyfix
