// Runs the program as a user types it. For tests only.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace skyfix::testing {

struct Outcome {
  int status = -1;  // exit status, or 128 + signal
  std::string out;  // standard output
  std::string err;  // standard error
};

// Runs `skyfix` with the arguments and waits.
Outcome skyfix(const std::vector<std::string>& arguments);

// Starts it and kills it with SIGKILL (or `signal`) after `milliseconds`, unless it ended before.
Outcome skyfix_killed_after(const std::vector<std::string>& arguments, int milliseconds,
                            int signal = 9);

// A folder of its own for each test, empty at the start and removed at the end unless the test
// failed.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// The reference data beside the repository. Where it is missing a test is to be skipped aloud, and
// to fail when CI=true: use SKYFIX_REQUIRE_SHARED.
std::filesystem::path shared_folder();
bool in_ci();

}  // namespace skyfix::testing

#define SKYFIX_REQUIRE_SHARED(part)                                                             \
  do {                                                                                          \
    if (!std::filesystem::exists(::skyfix::testing::shared_folder() / (part))) {                \
      if (::skyfix::testing::in_ci()) FAIL() << "../shared/" << (part) << " is missing";        \
      GTEST_SKIP() << "SKIPPED: ../shared/" << (part) << " is missing: real photos not tested"; \
    }                                                                                           \
  } while (false)
