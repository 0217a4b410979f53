#include "skyfix/base/log.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

class LogTest : public testing::Test {
 protected:
  void TearDown() override { log::configure("info"); }
};

template <class Call>
std::vector<std::string> lines_on_stderr(Call call) {
  testing::internal::CaptureStderr();
  call();
  spdlog::default_logger()->flush();
  std::istringstream text(testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST_F(LogTest, TextGoesToStandardErrorOnly) {
  testing::internal::CaptureStdout();
  const auto lines = lines_on_stderr([] {
    log::configure("info");
    log::warn("{} frames without a fix", 3);
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(lines, testing::ElementsAre("warning: 3 frames without a fix"));
}

TEST_F(LogTest, TheLevelHidesWhatIsBelowIt) {
  const auto lines = lines_on_stderr([] {
    log::configure("error");
    log::debug("a");
    log::info("b");
    log::warn("c");
    log::error("d");
  });
  EXPECT_THAT(lines, testing::ElementsAre("error: d"));
  EXPECT_TRUE(lines_on_stderr([] {
                log::configure("off");
                log::error("e");
              }).empty());
}

TEST_F(LogTest, JsonLinesStayObjectsWhateverTheMessage) {
  const std::vector<std::string> messages = {"plain", "quote \" and \\", "two\nlines",
                                             "not UTF-8 \xff", "%v %l {}"};
  const auto lines = lines_on_stderr([&] {
    log::configure("debug", log::Format::json);
    for (const std::string& message : messages) log::info("{}", message);
  });
  ASSERT_EQ(lines.size(), messages.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto object = nlohmann::json::parse(lines[i]);
    EXPECT_EQ(object.at("level"), "info");
    EXPECT_EQ(object.at("time").get<std::string>().size(),
              std::string("2024-01-01T00:00:00.000+00:00").size());
    if (i != 3) {
      EXPECT_EQ(object.at("message"), messages[i]);
    }
  }
}

TEST_F(LogTest, AnUnknownLevelIsRefused) {
  for (const char* level : {"", "loud", "INFO "}) {
    try {
      log::configure(level);
      ADD_FAILURE() << '"' << level << "\" was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::bad_option);
      EXPECT_THAT(error.message(), testing::HasSubstr("--log-level"));
    }
  }
}

}  // namespace
}  // namespace skyfix
