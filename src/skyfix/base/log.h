// Structured logging: one line an event, on standard error, below nothing but the command line
// deciding the level. Libraries never write to standard output.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace skyfix::log {

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;

enum class Format { text, json };

// Sends the log to standard error. `level` is one of trace, debug, info, warning, error, off.
// JSON gives one object a line: {"time","level","message"}. Throws Error(bad_option).
void configure(const std::string& level, Format format = Format::text);

}  // namespace skyfix::log
