#include "skyfix/cli/method_options.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/error.h"

namespace skyfix::cli {

NetworkOptions NetworkArguments::parsed(DeviceKind device) const {
  NetworkOptions options;
  options.weights = weights;
  options.weights_dir = weights_dir;
  options.placement.device = device;
  options.placement.precision = precision != "auto"
                                    ? precision_from_name(precision, "--precision", "auto")
                                : device == DeviceKind::cuda ? Precision::bf16
                                                             : Precision::fp32;
  options.small_in_fp32 = precision == "auto";
  return options;
}

void add_network_options(CLI::App& app, NetworkArguments& arguments) {
  app.add_option("--weights", arguments.weights,
                 "Weights of a network: FILE (.safetensors, .pth, .pt or a wheel), MODEL=FILE, or "
                 "synthetic for all (nothing is found with those). May be repeated. Without, they "
                 "are looked for: skyfix models list");
  app.add_option("--weights-dir", arguments.weights_dir, "Folder to look for weights in first");
  app.add_option("--precision", arguments.precision,
                 "Of the networks: fp32, bf16 or fp16; auto: bf16 on a GPU, fp32 on the CPU")
      ->capture_default_str();
}

void MethodArguments::apply(LocalizeOptions& localize) {
  require_method_names(options);
  if (max_features) {
    localize.query_features.max_features = *max_features;
    options.network.max_features = *max_features;
  }
  if (image_size) {
    localize.query_features.max_long_side_px = *image_size;
    options.network.long_side_px = *image_size;
  }
  options.network.validate();
}

void add_method_options(CLI::App& app, MethodArguments& arguments) {
  app.add_option("--matcher", arguments.options.matcher,
                 "sift, xfeat (with LighterGlue), xfeat-dense, aliked (with LightGlue) or mast3r; "
                 "auto: sift where the map has it, else what it has")
      ->capture_default_str();
  app.add_option("--retriever", arguments.options.retriever,
                 "vlad or dinov3; auto: dinov3 where the map has it and its weights are found, "
                 "else vlad")
      ->capture_default_str();
  app.add_option("--max-features", arguments.max_features,
                 fmt::format("Per photo, the strongest; 0 = all (default: sift {}, networks {})",
                             FeatureOptions().max_features, NetworkMatcherOptions().max_features));
  app.add_option(
      "--image-size", arguments.image_size,
      fmt::format("Long side of the picture that features are found in, px; 0 = as it "
                  "is (default: sift {}, networks {})",
                  FeatureOptions().max_long_side_px, NetworkMatcherOptions().long_side_px));
  app.add_option("--map-images", arguments.options.map_images,
                 "The map's photos, for mast3r (default: where they were when it was built)");
  add_network_options(app, arguments.networks);
}

Json method_configuration(const MethodArguments& arguments, const ChosenMethods& chosen,
                          const Networks& networks) {
  Json json;
  json["matcher"] = chosen.matcher;
  json["places"] = chosen.places;
  if (networks.opened().empty()) return json;
  const NetworkMatcherOptions& network = arguments.options.network;
  json["weights_sha256"] = networks.opened();
  json["precision"] = std::string(precision_name(networks.placement().precision));
  json["network"] = {
      {"max_features", network.max_features},     {"long_side_px", network.long_side_px},
      {"min_cosine", network.min_cosine},         {"grid_px", network.grid_px},
      {"max_candidates", network.max_candidates}, {"search_cosine", network.search_cosine}};
  return json;
}

std::vector<std::string> parse_names(const std::string& text, const std::string& option,
                                     const std::vector<std::string>& allowed) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      throw Error(Reason::bad_option, fmt::format("{} holds '{}'; allowed is a list of {}", option,
                                                  name, fmt::join(allowed, ", ")));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    begin = end + 1;
  }
  return names;
}

}  // namespace skyfix::cli
