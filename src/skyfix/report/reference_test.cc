#include "skyfix/report/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "skyfix/base/file.h"
#include "skyfix/report/json_fields.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using report_testing::scratch_folder;
using ::testing::HasSubstr;

Json small_reference() {
  return Json::parse(R"({"format":"skyfix-reference","version":1,
    "frame":{"kind":"local east-north-up, metres"},
    "queries":{
      "b10.jpg":{"world_to_camera":{"quaternion_wxyz":[0,1,0,0],"translation":[1,2,3]},
                 "centre_enu_m":[-1,2,3]},
      "b9.jpg":{"world_to_camera":{"quaternion_wxyz":[1,0,0,0],"translation":[0,0,0]}}}})");
}

Reference read(const std::string& text) {
  const fs::path file = scratch_folder() / "reference.json";
  write_file_atomic(file, text);
  return read_reference(file);
}

std::string problem_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_reference);
    return error.message();
  }
  return "accepted";
}

std::string problem_after(const std::function<void(Json&)>& change) {
  Json json = small_reference();
  change(json);
  return problem_of(json.dump());
}

TEST(Reference, ReadsPosesInNaturalOrder) {
  const Reference reference = read(small_reference().dump());
  EXPECT_TRUE(reference.metric);
  ASSERT_EQ(reference.queries.size(), 2u);
  EXPECT_EQ(reference.queries[0].name, "b9.jpg");
  EXPECT_EQ(reference.queries[1].cam_from_world.centre(), Eigen::Vector3d(-1, 2, 3));
  EXPECT_EQ(reference.sha256.size(), 64u);
}

TEST(Reference, RefusesHostileFiles) {
  const auto pose = [](Json& j) -> Json& { return j["queries"]["b10.jpg"]["world_to_camera"]; };
  EXPECT_EQ(problem_after([](Json&) {}), "accepted");
  EXPECT_THAT(problem_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(problem_of("[]"), HasSubstr("object"));
  EXPECT_THAT(problem_of(std::string(5000000, '[')), HasSubstr("nested"));
  EXPECT_THAT(problem_after([](Json& j) { j["format"] = "x"; }), HasSubstr("skyfix-reference"));
  EXPECT_THAT(problem_after([](Json& j) { j["version"] = 2; }), HasSubstr("version"));
  EXPECT_THAT(problem_after([](Json& j) { j["frame"]["kind"] = "ECEF"; }), HasSubstr("ECEF"));
  EXPECT_THAT(problem_after([](Json& j) { j["queries"] = Json::object(); }), HasSubstr("empty"));
  EXPECT_THAT(problem_after([](Json& j) { j["queries"] = Json::array(); }), HasSubstr("object"));
  EXPECT_THAT(problem_after([](Json& j) { j["queries"]["b9.jpg"] = nullptr; }),
              HasSubstr("queries.b9.jpg"));
  EXPECT_THAT(problem_after([&](Json& j) {
                pose(j)["quaternion_wxyz"] = {1, 1, 0, 0};
              }),
              HasSubstr("unit"));
  EXPECT_THAT(problem_after([&](Json& j) {
                pose(j)["translation"] = {1, "2", 3};
              }),
              HasSubstr("translation"));
  EXPECT_THAT(problem_after([&](Json& j) {
                pose(j)["translation"] = {1, 2, 1e300};
              }),
              HasSubstr("bounds"));
}

TEST(Reference, RefusesAPoseThatContradictsItsCentre) {
  // Camera to world instead of world to camera.
  EXPECT_THAT(problem_after([](Json& j) {
                j["queries"]["b10.jpg"]["centre_enu_m"] = {1, 2, 3};
              }),
              HasSubstr("away from where world_to_camera puts the camera"));
}

ReferencePose at(const std::string& name, double x) {
  return {name, {Eigen::Quaterniond::Identity(), {-x, 0, 0}}};
}

TEST(CameraPathLength, LeavesStepsAcrossGapsOut) {
  EXPECT_DOUBLE_EQ(camera_path_length({at("f10.jpg", 2), at("f8.jpg", 1), at("f6.jpg", 0),
                                       at("f90.jpg", 50), at("f92.jpg", 53)}),
                   5);
  EXPECT_DOUBLE_EQ(camera_path_length({at("a.jpg", 0), at("c.jpg", 1), at("z.jpg", 5)}), 5);
  EXPECT_EQ(camera_path_length({at("a.jpg", 0)}), 0);
}

TEST(Reference, PathLengthFallsBackToTheFormatsPromise) {
  Json json = small_reference();
  json["frame"]["kind"] = "arbitrary, not metric";
  json["map"] = {{"names", {"b8.jpg"}}};
  const Reference reference = read(json.dump());
  EXPECT_EQ(reference.path_length, 100);
  EXPECT_THAT(reference.path_length_source, HasSubstr("promise"));
}

fs::path shared_file(const std::string& name) {
  return fs::path(SKYFIX_SHARED_DIR) / "data" / name / "reference.json";
}

// The reference data lie beside the repository; without them these tests say so, and fail in CI.
#define SKYFIX_REQUIRE_SHARED(file)                                               \
  if (!fs::exists(file)) {                                                        \
    const char* ci = std::getenv("CI");                                           \
    if (ci != nullptr && std::string(ci) == "true") FAIL() << file << " missing"; \
    GTEST_SKIP() << "reference data are missing: " << file;                       \
  }

TEST(Reference, ReadsBrighton) {
  SKYFIX_REQUIRE_SHARED(shared_file("brighton"));
  const Reference reference = read_reference(shared_file("brighton"));
  EXPECT_TRUE(reference.metric);
  EXPECT_EQ(reference.dataset, "brighton");
  ASSERT_EQ(reference.queries.size(), 5u);
  EXPECT_EQ(reference.queries[0].name, "DJI_0020.JPG");
}

TEST(Reference, ReadsUniversityAndItsPath) {
  SKYFIX_REQUIRE_SHARED(shared_file("university"));
  const Reference reference = read_reference(shared_file("university"));
  EXPECT_FALSE(reference.metric);
  EXPECT_EQ(reference.queries.size(), 23u);
  EXPECT_NEAR(reference.path_length, 100, 1e-6);
  EXPECT_THAT(reference.path_length_source, HasSubstr("45 listed poses"));
}

}  // namespace
}  // namespace skyfix
