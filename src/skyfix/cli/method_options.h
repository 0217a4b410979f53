// The options that choose what a command retrieves and matches with, and the networks for it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/localize/methods.h"
#include "skyfix/report/json_fields.h"

namespace skyfix::cli {

// Of the networks alone. As typed.
struct NetworkArguments {
  std::vector<std::string> weights;
  std::string weights_dir;
  std::string precision = "auto";  // bf16 on a GPU, fp32 on the CPU

  // Throws Error(bad_option) naming the option.
  NetworkOptions parsed(DeviceKind device) const;
};
// `arguments` must outlive the parsing.
void add_network_options(CLI::App& app, NetworkArguments& arguments);

struct MethodArguments {
  MethodOptions options;
  NetworkArguments networks;
  std::optional<int> max_features;  // without: what suits the matcher
  std::optional<int> image_size;

  // Sets what depends on the matcher in both; throws Error(bad_option).
  void apply(LocalizeOptions& localize);
};
void add_method_options(CLI::App& app, MethodArguments& arguments);

// For the manifest: everything of these that results depend on.
Json method_configuration(const MethodArguments& arguments, const ChosenMethods& chosen,
                          const Networks& networks);

// "sift,xfeat" -> its parts; an empty part or a name that is not allowed is Error(bad_option).
std::vector<std::string> parse_names(const std::string& text, const std::string& option,
                                     const std::vector<std::string>& allowed);

}  // namespace skyfix::cli
