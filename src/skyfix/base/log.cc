#include "skyfix/base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <nlohmann/json.hpp>

#include "skyfix/base/error.h"

namespace skyfix::log {
namespace {

// %* in a pattern: the message as a JSON string, so that a line stays one valid object.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text(message.payload.data(), message.payload.size());
    const std::string quoted =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

}  // namespace

void configure(const std::string& level, Format format) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    throw Error(
        Reason::bad_option,
        "--log-level " + level + " is not a level; use trace, debug, info, warning, error or off");
  }
  if (format == Format::json) {
    auto logger = std::make_shared<spdlog::logger>(
        "skyfix", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<JsonMessage>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%*})");
    logger->set_formatter(std::move(formatter));
    spdlog::set_default_logger(logger);
  } else {
    auto logger = std::make_shared<spdlog::logger>(
        "skyfix", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("%^%l%$: %v");
    spdlog::set_default_logger(logger);
  }
  spdlog::set_level(parsed);
}

}  // namespace skyfix::log
