// Fixtures of this room's tests. For tests only.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/map/colmap_model.h"

namespace skyfix {

// A folder of its own for the running test, removed afterwards.
class ScratchFolder {
 public:
  ScratchFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name();
    for (char& c : name) c = c == '/' ? '_' : c;
    path_ = std::filesystem::path(::testing::TempDir()) /
            ("skyfix-map-" + std::to_string(::getpid()) + "-" + name);
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs `statement`, expects an Error of this reason, and leaves its what() in `message`.
template <class Statement>
std::string error_of(Reason reason, const Statement& statement) {
  try {
    statement();
  } catch (const Error& error) {
    EXPECT_EQ(reason_name(error.reason()), reason_name(reason)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown; expected " << reason_name(reason);
  return {};
}

// Skips (fails under CI=true) when the reference data are not beside the checkout.
#define SKYFIX_NEED_SHARED(path)                                                     \
  if (!std::filesystem::exists(path)) {                                              \
    const char* ci = std::getenv("CI");                                              \
    if (ci != nullptr && std::string(ci) == "true") FAIL() << path << " is missing"; \
    GTEST_SKIP() << "REFERENCE DATA MISSING: " << path;                              \
  }                                                                                  \
  static_assert(true)

inline std::filesystem::path shared_data(const std::string& name) {
  return std::filesystem::path(SKYFIX_SHARED_DIR) / "data" / name;
}

// One SIMPLE_RADIAL camera 640x480 10 m above the plane z = 0, looking down; `images` images
// 1 m apart along x, ids 3, 6, 9 ...; points with ids 5, 10, 15 ... on a grid, each seen by all
// images with exact pixels. The world is ENU, the images' upper side is north.
ColmapModel plane_model(int images, int points);

// The images' names of case S1: blanks and a sub-folder.
std::vector<std::string> names_with_blanks();

void expect_equal(const ColmapModel& a, const ColmapModel& b);

}  // namespace skyfix
