#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"
#include "skyfix/base/text.h"
#include "skyfix/cli/commands.h"
#include "skyfix/cli/map_additions.h"
#include "skyfix/localize/map_build.h"
#include "skyfix/map/map_folder.h"

namespace skyfix::cli {
namespace fs = std::filesystem;

namespace {

// "LAT,LON,H" in degrees and metres.
Wgs84 parse_origin(const std::string& text) {
  std::vector<double> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto value = parse_double(trim(std::string_view(text).substr(begin, end - begin)));
    values.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
    begin = end + 1;
  }
  Wgs84 origin;
  if (values.size() == 3) origin = {values[0], values[1], values[2]};
  if (values.size() != 3 || !origin.valid()) {
    throw Error(
        Reason::bad_option,
        "--enu-origin " + text + " is not LAT,LON,H (degrees, degrees, metres; |LAT| <= 90)");
  }
  return origin;
}

std::string describe(const Georegistration& geo) {
  if (!geo.known()) return "none: arbitrary units";
  std::string text = fmt::format(
      "{}, origin {:.6f},{:.6f},{:.2f}, altitude datum {}",
      geo.kind == Georegistration::Kind::gps_fit ? "fitted to the photos' GPS" : "given origin",
      geo.origin.latitude_deg, geo.origin.longitude_deg, geo.origin.h_ellipsoid,
      altitude_datum_name(geo.datum));
  if (geo.kind == Georegistration::Kind::gps_fit) {
    text += fmt::format(
        "\n                  {} photos used, {} rejected; residuals {:.2f} m RMS horizontal, "
        "{:.2f} m vertical, {:.2f} m worst",
        geo.photos_used, geo.photos_rejected, geo.rms_horizontal_m, geo.rms_vertical_m,
        geo.max_residual_m);
  }
  return text;
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

// Prints the findings; true when one is an error.
bool print_findings(const std::vector<Finding>& findings) {
  bool bad = false;
  for (const Finding& finding : findings) {
    std::printf("%s: %s [%s]\n", severity_name(finding.severity), finding.message.c_str(),
                finding.code.c_str());
    bad = bad || finding.severity == Severity::error;
  }
  return bad;
}

int run_build(MapBuildOptions options, const std::string& origin, const std::string& georegister,
              const std::string& datum, const AdditionArguments& additions,
              const Globals& globals) {
  if (!origin.empty()) options.enu_origin = parse_origin(origin);
  options.datum = altitude_datum_from_name(datum);
  if (georegister == "gps") options.georegister = MapBuildOptions::Georegister::gps;
  if (georegister == "none") options.georegister = MapBuildOptions::Georegister::none;
  OpenAdditions networks(additions);
  networks.additions().images = options.images;
  networks.additions().place_long_side_px = options.vlad_long_side_px;
  networks.additions().vlad = options.vlad;
  options.sift = networks.sift();
  const MapBuildReport report = build_map(options, *globals.progress());
  print_findings(report.findings);
  std::printf("map               %s\n", options.out.c_str());
  std::printf("images            %zu (%zu photos unreadable)\n", report.images,
              report.missing_photos);
  if (options.sift) {
    std::printf("points            %zu, of which %zu carry descriptors\n", report.points,
                report.points_with_descriptors);
    std::printf("observations      %zu, of which %zu are tied to features\n", report.observations,
                report.tied_observations);
  }
  std::printf("georegistration   %s\n", describe(report.georegistration).c_str());
  if (networks.any()) networks.add_to(options.out, *globals.progress());
  return kExitOk;
}

void add_add(CLI::App& parent, const Globals& globals, Commands& commands) {
  CLI::App* app = parent.add_subcommand(
      "add", "Add kinds of features and places to a map; the others stay as they are");
  auto map = std::make_shared<std::string>();
  auto images = std::make_shared<std::string>();
  auto arguments = std::make_shared<AdditionArguments>();
  app->add_option("MAP", *map, "Map folder")->required();
  app->add_option("--images", *images,
                  "The map's photos (default: where they were when it was built)");
  add_addition_options(*app, *arguments);
  commands.push_back({app, [=, &globals] {
                        OpenAdditions networks(*arguments);
                        if (networks.sift()) {
                          throw Error(Reason::bad_option,
                                      "sift is made by skyfix map build alone: build the map again "
                                      "with --features sift");
                        }
                        if (!networks.any()) {
                          throw Error(Reason::bad_option,
                                      "nothing to add: give --features xfeat, --features aliked "
                                      "or --global dinov3");
                        }
                        networks.additions().images = *images;
                        networks.add_to(*map, *globals.progress());
                        return kExitOk;
                      }});
}

void add_build(CLI::App& parent, const Globals& globals, Commands& commands) {
  CLI::App* app = parent.add_subcommand("build", "Make a map from a COLMAP model and its photos");
  auto options = std::make_shared<MapBuildOptions>();
  auto origin = std::make_shared<std::string>();
  auto georegister = std::make_shared<std::string>("auto");
  auto datum = std::make_shared<std::string>("as_recorded");
  app->add_option("--colmap", options->colmap,
                  "COLMAP model (sparse, sparse/0, ...), binary or text")
      ->required();
  app->add_option("--images", options->images,
                  "Folder that the model's image names are relative to")
      ->required();
  app->add_option("--out", options->out, "Map folder to write")->required();
  app->add_flag("--overwrite", options->overwrite, "Replace a map that is there");
  app->add_option("--enu-origin", *origin,
                  "LAT,LON,H: the model is in metres, east-north-up, at this origin");
  app->add_option("--georegister", *georegister,
                  "auto: fit to the photos' GPS where they have it; gps: or fail; none")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "gps", "none"}));
  app->add_option(
         "--altitude-datum", *datum,
         "What the altitudes are measured from: ellipsoid, sea_level, takeoff, as_recorded, "
         "unknown")
      ->capture_default_str();
  auto additions = std::make_shared<AdditionArguments>();
  additions->features = "sift";
  additions->places = "vlad";
  add_addition_options(*app, *additions);
  app->add_option("--max-features", options->map_features.max_features,
                  "Per map photo, the strongest; 0 = all")
      ->capture_default_str();
  app->add_option("--tie-radius", options->tie.radius_px,
                  "A feature this near an observation carries its point, px")
      ->capture_default_str();
  app->add_option("--vlad-clusters", options->vlad.clusters, "Words of the VLAD vocabulary")
      ->capture_default_str();
  app->add_option("--vpr-resize", options->vlad_long_side_px,
                  "Long side of the pictures that global descriptors see, px")
      ->capture_default_str();
  app->add_option("--seed", options->vlad.seed, "Of the vocabulary")->capture_default_str();
  commands.push_back({app, [=, &globals] {
                        return run_build(*options, *origin, *georegister, *datum, *additions,
                                         globals);
                      }});
}

int run_info(const fs::path& folder, bool verify, bool as_json) {
  const Map map = Map::open(folder, verify);
  if (as_json) {
    std::printf("%s\n", map.manifest().dump(2).c_str());
    return kExitOk;
  }
  std::printf("map               %s (version %d)\n", folder.c_str(), kMapVersion);
  std::printf("content hash      %s%s\n", map.content_hash().c_str(), verify ? " (verified)" : "");
  std::printf("images            %zu\npoints            %zu\nobservations      %zu\n",
              map.image_count(), map.point_count(), map.observation_point().size());
  for (const MapCamera& camera : map.cameras()) {
    std::printf("camera %-10u %s %d x %d px, %s %s\n", camera.id.value,
                std::string(camera_model_name(camera.camera.model)).c_str(), camera.camera.width,
                camera.camera.height, camera.make.empty() ? "make unknown" : camera.make.c_str(),
                camera.model.c_str());
  }
  for (const std::string& kind : map.feature_kinds()) {
    const MapFeatures features = map.features(kind);
    std::printf("features          %s: %zu descriptors of %d numbers\n", kind.c_str(),
                features.point.size(), features.dimension);
  }
  for (const std::string& kind : map.place_kinds()) {
    std::printf("places            %s: %d words\n", kind.c_str(), map.places(kind).clusters);
  }
  std::printf("georegistration   %s\n", describe(map.georegistration()).c_str());
  return kExitOk;
}

void add_info(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand("info", "Say what a map holds");
  auto folder = std::make_shared<std::string>();
  auto verify = std::make_shared<bool>(false);
  auto as_json = std::make_shared<bool>(false);
  app->add_option("MAP", *folder, "Map folder")->required();
  app->add_flag("--verify", *verify, "Read everything and compare the hashes");
  app->add_flag("--json", *as_json, "Print the map's manifest");
  commands.push_back({app, [=] { return run_info(*folder, *verify, *as_json); }});
}

int run_check(const fs::path& path, const fs::path& images) {
  std::vector<Finding> findings;
  if (fs::exists(path / "map.json")) {
    const Map map = Map::open(path, /*verify_hashes=*/true);
    std::printf("map of %zu images and %zu points: readable, hashes agree\n", map.image_count(),
                map.point_count());
    return kExitOk;
  }
  const fs::path folder = find_colmap_model(path);
  const ColmapModel model = read_colmap(folder);
  findings = check_model(model);
  if (!images.empty()) {
    for (Finding& finding : check_photos(model, photo_sizes(model, images))) {
      findings.push_back(std::move(finding));
    }
  }
  std::printf("model %s: %zu cameras, %zu images, %zu points\n", folder.c_str(),
              model.cameras.size(), model.images.size(), model.points.size());
  const bool bad = print_findings(findings);
  if (findings.empty()) std::printf("nothing to complain about\n");
  return bad ? kExitCannotRun : kExitOk;
}

void add_check(CLI::App& parent, Commands& commands) {
  CLI::App* app =
      parent.add_subcommand("check", "Look for what goes wrong later, in a COLMAP model or a map");
  auto path = std::make_shared<std::string>();
  auto images = std::make_shared<std::string>();
  app->add_option("PATH", *path, "COLMAP model (or a folder that holds one) or map folder")
      ->required();
  app->add_option("--images", *images, "Also compare with the photos here");
  commands.push_back({app, [=] { return run_check(*path, *images); }});
}

}  // namespace

void add_map(CLI::App& root, const Globals& globals, Commands& commands) {
  CLI::App* app = root.add_subcommand("map", "Make, describe and check maps");
  app->require_subcommand(1);
  add_build(*app, globals, commands);
  add_add(*app, globals, commands);
  add_info(*app, commands);
  add_check(*app, commands);
}

}  // namespace skyfix::cli
