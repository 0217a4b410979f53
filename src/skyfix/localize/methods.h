// How a run retrieves and matches, chosen by name or by what the map holds and what weights there
// are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "skyfix/localize/localizer.h"
#include "skyfix/localize/network_matcher.h"
#include "skyfix/localize/networks.h"

namespace skyfix {

struct MethodOptions {
  std::string matcher = "auto";    // auto, sift, xfeat, xfeat-dense, aliked, mast3r
  std::string retriever = "auto";  // auto, vlad, dinov3
  NetworkMatcherOptions network;
  std::filesystem::path map_images;  // the map's photos, for MASt3R; empty = where they were
};

std::vector<std::string> matcher_names();
// Throws Error(bad_option) naming the nearest.
void require_method_names(const MethodOptions& options);

struct ChosenMethods {
  std::string matcher;   // a name of matcher_names(), not auto
  std::string features;  // the map's kind that is matched with; empty for mast3r
  std::string places;    // the map's kind of places
};

// auto matcher: SIFT where the map has it, else the first of xfeat and aliked that it has. auto
// retriever: DINOv3 where the map has it and its weights are found, else VLAD over SIFT, else over
// what there is. Throws Error(missing_in_map) saying how to add what is missing.
ChosenMethods choose_methods(const Map& map, const MethodOptions& options,
                             const Networks& networks);

// `networks` must outlive them: what runs out of a device's memory is made anew on the CPU. Throws
// Error(missing_weights | bad_weights | missing_in_map).
LocalizeMethods open_methods(const Map& map, const ChosenMethods& chosen,
                             const MethodOptions& options, const LocalizeOptions& localize,
                             Networks& networks, const MatchContext& matching);

}  // namespace skyfix
