// What a program says about arguments that cannot be understood. Also compiled into skyfix-bench.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace skyfix::cli {

// One line without its end: the program's name, what is wrong, what is allowed where that is known,
// where help is, and the reason code.
std::string parse_error_text(const CLI::App& root, const CLI::ParseError& error);

}  // namespace skyfix::cli
