// `skyfix doctor`: what it says on a machine with or without a GPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "process.h"

namespace skyfix::testing {
namespace {
using ::testing::AnyOf;
using ::testing::HasSubstr;

// A variable of the environment for the programs that a test starts.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Doctor, NamesVersionsAndTheStateOfTheGpu) {
  const Outcome outcome = skyfix({"doctor"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* name :
       {"skyfix", "processor", "memory", "LibTorch", "libopencv_core", "libavcodec"}) {
    EXPECT_THAT(outcome.out, HasSubstr(name));
  }
  EXPECT_THAT(outcome.out, AnyOf(HasSubstr("A GPU can be used."), HasSubstr("No GPU can be used")));
}

TEST(Doctor, WithoutAGpuNamesTheMissingLibraryAndARemedy) {
  const Outcome outcome = skyfix({"doctor", "--json"});
  const auto report = nlohmann::json::parse(outcome.out);
  if (report["gpu_usable"].get<bool>()) GTEST_SKIP() << "this machine has a GPU";
  bool names_library = false, names_remedy = false;
  for (const auto& finding : report["findings"]) {
    names_library |= finding["found"].get<std::string>().find(".so") != std::string::npos &&
                     finding["what"] == "GPU part";
    names_remedy |= !finding["remedy"].get<std::string>().empty();
  }
  EXPECT_TRUE(names_library) << outcome.out;
  EXPECT_TRUE(names_remedy) << outcome.out;
  EXPECT_EQ(skyfix({"doctor", "--require-gpu"}).status, 2);
}

TEST(Doctor, SaysThatTheUsersAllocatorSettingsAreHonoured) {
  const Setting setting("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128");
  const Outcome outcome = skyfix({"doctor"});
  EXPECT_THAT(outcome.out, HasSubstr("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"));
}

TEST(Doctor, ADamagedGpuPartIsNamed) {
  const Setting setting("SKYFIX_CUDA_LIBRARY", "/nowhere/libskyfix_cuda.so");
  const Outcome outcome = skyfix({"doctor"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("/nowhere/libskyfix_cuda.so"));
}

}  // namespace
}  // namespace skyfix::testing
