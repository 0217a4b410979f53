// The options that say which frames of an input a command works on.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "skyfix/frames/frame_source.h"

namespace skyfix::cli {

struct FrameArguments {
  FrameSourceOptions options;
  std::string drop_policy = "oldest";

  // Throws Error(bad_option) naming the option.
  FrameSourceOptions parsed() const;
};

// `arguments` must outlive the parsing.
void add_frame_options(CLI::App& app, FrameArguments& arguments);

}  // namespace skyfix::cli
