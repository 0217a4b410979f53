#include "skyfix/cli/map_additions.h"

#include <algorithm>
#include <cstdio>

#include "skyfix/base/error.h"

namespace skyfix::cli {

void add_addition_options(CLI::App& app, AdditionArguments& arguments) {
  app.add_option("--features", arguments.features,
                 "Local features, a list of sift, xfeat and aliked; the networks' descriptors are "
                 "taken exactly at the model's observations")
      ->capture_default_str();
  app.add_option("--global", arguments.places,
                 "Places, a list of vlad (over the first kind of features) and dinov3")
      ->capture_default_str();
  app.add_option("--dinov3", arguments.dinov3,
                 "Which DINOv3, such as dinov3-vitl16 (default: the largest whose weights are "
                 "found)");
  app.add_option("--image-size", arguments.image_size,
                 "Long side of the pictures that networks see, px; 0 = as they are (default: " +
                     std::to_string(kNetworkLongSidePx) + ")");
  app.add_option("--device", arguments.device, "Of the networks: auto, cpu or cuda")
      ->capture_default_str();
  add_network_options(app, arguments.networks);
}

OpenAdditions::OpenAdditions(const AdditionArguments& arguments) {
  std::vector<std::string> features;
  if (!arguments.features.empty()) {
    features = parse_names(arguments.features, "--features", {"sift", "xfeat", "aliked"});
  }
  std::vector<std::string> places;
  if (!arguments.places.empty()) {
    places = parse_names(arguments.places, "--global", {"vlad", "dinov3"});
  }
  sift_ = std::find(features.begin(), features.end(), "sift") != features.end();
  const bool dinov3 = std::find(places.begin(), places.end(), "dinov3") != places.end();
  if (features.size() == (sift_ ? 1 : 0) && !dinov3) return;  // no network: no device either

  ComputeOptions options;
  options.device = arguments.device;
  const bool on_gpu = uses_device(options) && arguments.device != "host";
  compute_ = open_compute(options);
  Networks networks(arguments.networks.parsed(on_gpu ? DeviceKind::cuda : DeviceKind::cpu));
  for (const std::string& kind : features) {
    if (kind != "sift") additions_.networks.push_back(networks.local(kind));
  }
  if (dinov3) {
    std::string name = arguments.dinov3.empty() ? networks.available_dinov3() : arguments.dinov3;
    if (name.empty()) name = "dinov3-vitl16";  // whose error says where it is to be had
    additions_.dinov3 = networks.dinov3(name);
  }
  additions_.long_side_px = arguments.image_size.value_or(kNetworkLongSidePx);
}

void OpenAdditions::add_to(const std::filesystem::path& map, Progress& progress) const {
  const MapExtendReport report = extend_map(map, additions_, progress);
  for (const MapExtendReport::Kind& kind : report.features) {
    std::printf("features          %s: %zu descriptors added\n", kind.name.c_str(), kind.rows);
  }
  for (const std::string& kind : report.places) {
    std::printf("places            %s added\n", kind.c_str());
  }
  if (report.missing_photos > 0) {
    std::printf("                  %zu photos could not be read\n", report.missing_photos);
  }
}

}  // namespace skyfix::cli
