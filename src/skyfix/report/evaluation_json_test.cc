#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/report/evaluate_testing.h"

namespace skyfix {
namespace {

using report_testing::moved;
using report_testing::reference_of;
using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using ::testing::HasSubstr;

TEST(EvaluationJson, CountsEveryRecordAndShowsWhatIsMissing) {
  const Reference reference = reference_of({"a", "b", "c", "d", "e"});
  const auto& q = reference.queries;
  const Evaluation evaluation =
      evaluate({moved(q[0], {0.2, 0, 0}, 1, 1),
                moved(q[1], {0.2, 0, 0}, 3, 2),
                moved(q[2], {0, 0, 4}, 0, 3),
                {sample_bad_fix("d", 4, FixStatus::failed, Reason::out_of_memory), {}}},
               reference);
  const Json json = evaluation_json(evaluation, reference, Json::object());
  EXPECT_DOUBLE_EQ(json["recall"][2]["share"].get<double>(), 0.6);
  EXPECT_EQ(json["frames"], 4);
  EXPECT_EQ(json["ok"], 3);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["memory_failures"], 1);
  ASSERT_EQ(json["per_frame"].size(), 5u);
  EXPECT_TRUE(json["per_frame"][3]["position_m"].is_null());
  EXPECT_TRUE(json["per_frame"][4]["status"].is_null());
  EXPECT_EQ(json["protocol"]["references_without_frame"][0]["name"], "e");
}

TEST(EvaluationJson, ArbitraryUnitsAreReportedInPerCentOfThePath) {
  const Reference reference = reference_of({"a"}, false);
  const Evaluation evaluation = evaluate({moved(reference.queries[0], {0, 3, 4}, 0)}, reference);
  const Json json = evaluation_json(evaluation, reference, Json::object());
  EXPECT_NEAR(json["position_rmse_percent"].get<double>(), 2.5, 1e-9);
  EXPECT_NEAR(json["per_frame"][0]["position_percent"].get<double>(), 2.5, 1e-9);
  for (const char* key : {"horizontal_rmse_m", "vertical_rmse_m", "position_rmse_m"}) {
    ASSERT_TRUE(json.contains(key));
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_EQ(json["protocol"]["reference"]["path_length_units"], 200);
  EXPECT_EQ(json["recall"][2]["position_percent"], 5);
}

TEST(EvaluationJson, HasTheAgreedKeysAndItsProtocol) {
  const Reference reference = reference_of({"a"});
  const Json manifest = {{"state", "finished"}, {"configuration_sha256", "abc"}};
  const Json json = evaluation_json(
      evaluate({moved(reference.queries[0], {0, 0, 0}, 0)}, reference), reference, manifest);
  for (const char* key :
       {"frames", "ok", "rejected", "failed", "skipped", "memory_failures", "horizontal_rmse_m",
        "horizontal_max_m", "vertical_rmse_m", "position_rmse_m", "rotation_median_deg",
        "rotation_max_deg", "recall", "per_frame", "protocol"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["protocol"]["run"]["configuration_sha256"], "abc");
  EXPECT_THAT(json["protocol"]["alignment"].get<std::string>(), HasSubstr("none"));
  EXPECT_EQ(json["protocol"]["frames_in_recall"], 1);
}

TEST(EvaluationJson, NothingComparedGivesNullsAndAWarning) {
  const Reference reference = reference_of({"a.jpg"});
  const Evaluation evaluation = evaluate({{sample_ok_fix("zzz.png", 1), {}}}, reference);
  const Json json = evaluation_json(evaluation, reference, Json::object());
  EXPECT_TRUE(json["horizontal_rmse_m"].is_null());
  EXPECT_EQ(json["recall"][0]["share"], 0);
  EXPECT_THAT(json["warnings"].dump(), HasSubstr("No frame of the run has a reference"));
  const Json empty = evaluation_json(evaluate({}, reference), reference, Json::object());
  EXPECT_EQ(empty["frames"], 0);
  EXPECT_TRUE(empty["rotation_median_deg"].is_null());
}

}  // namespace
}  // namespace skyfix
