// What networks add to a map: the options of `map build` and `map add`, and the work.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "skyfix/base/progress.h"
#include "skyfix/cli/method_options.h"
#include "skyfix/localize/compute.h"
#include "skyfix/localize/map_extend.h"

namespace skyfix::cli {

// As typed.
struct AdditionArguments {
  std::string features;
  std::string places;  // --global
  std::string dinov3;  // model; empty = the largest whose weights are found
  std::string device = "auto";
  std::optional<int> image_size;
  NetworkArguments networks;
};
// `arguments` must outlive the parsing.
void add_addition_options(CLI::App& app, AdditionArguments& arguments);

// The networks asked for, opened before anything is read. Throws Error(missing_weights |
// bad_weights | bad_option).
class OpenAdditions {
 public:
  explicit OpenAdditions(const AdditionArguments& arguments);
  bool sift() const { return sift_; }
  bool any() const { return !additions_.networks.empty() || additions_.dinov3; }
  MapAdditions& additions() { return additions_; }
  // Adds them to the map and prints what was added.
  void add_to(const std::filesystem::path& map, Progress& progress) const;

 private:
  Compute compute_;  // the device, held while the networks are used
  bool sift_ = false;
  MapAdditions additions_;
};

}  // namespace skyfix::cli
