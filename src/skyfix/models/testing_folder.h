// A folder and an environment of its own for each test. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace skyfix::testing {

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("skyfix_models_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    // Nothing of this machine's is found.
    set_variable("SKYFIX_WEIGHTS", "");
    set_variable("XDG_DATA_HOME", folder_ / "home");
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  void set_variable(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_.try_emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

  std::filesystem::path folder_;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace skyfix::testing
