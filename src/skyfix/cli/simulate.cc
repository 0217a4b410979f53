#include "skyfix/simulate/simulate.h"

#include <cstdio>

#include "skyfix/cli/commands.h"

namespace skyfix::cli {

void add_simulate(CLI::App& root, const Globals& globals, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "simulate",
      "Make a data set with exact truth: photos of an invented landscape, a COLMAP model, "
      "reference.json");
  auto options = std::make_shared<SimulateOptions>();
  auto out = std::make_shared<std::string>();
  app->add_option("--out", *out, "Folder to write (new or empty)")->required();
  app->add_option("--seed", options->seed, "Same seed, same bytes")->capture_default_str();
  app->add_option("--map-images", options->map_images, "Photos of the map flight")
      ->capture_default_str();
  app->add_option("--query-images", options->query_images, "Photos of the query flight")
      ->capture_default_str();
  app->add_option("--width", options->width_px, "Photo width, px (3:2)")->capture_default_str();
  app->add_option("--altitude", options->altitude_m, "Map flight, m above the mean ground")
      ->capture_default_str();
  app->add_option("--query-altitude", options->altitude_query_m,
                  "Query flight, m above the mean ground")
      ->capture_default_str();
  app->add_option("--overlap", options->overlap, "Of neighbouring map photos, 0.3 to 0.95")
      ->capture_default_str();
  app->add_option("--gps-noise", options->gps_sigma_m, "Sigma of the photos' GPS, m")
      ->capture_default_str();
  app->add_option("--points", options->points, "About how many 3D points the model gets")
      ->capture_default_str();
  app->add_option("--jpeg-quality", options->jpeg_quality, "1 to 100")->capture_default_str();
  commands.push_back({app, [options, out, &globals] {
                        simulate(*options, *out, *globals.progress());
                        std::printf(
                            "%d map photos, %d query photos, sparse/0 and reference.json in %s\n",
                            options->map_images, options->query_images, out->c_str());
                        return kExitOk;
                      }});
}

}  // namespace skyfix::cli
