// Makes a map folder from a COLMAP model and its photos: checks, georegistration, features tied to
// the observations, global descriptors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/base/progress.h"
#include "skyfix/features/local_features.h"
#include "skyfix/features/tie.h"
#include "skyfix/geo/geodesy.h"
#include "skyfix/map/georegistration.h"
#include "skyfix/map/model_check.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix {

struct MapBuildOptions {
  std::filesystem::path colmap;  // model folder, or a folder that holds one
  std::filesystem::path images;  // the photos the model's names are relative to
  std::filesystem::path out;
  bool overwrite = false;
  enum class Georegister { automatic, gps, none };  // automatic: gps where the photos have it
  Georegister georegister = Georegister::automatic;
  std::optional<Wgs84> enu_origin;  // the model is in metres, east-north-up, at this origin
  AltitudeDatum datum = AltitudeDatum::as_recorded;
  // SIFT features and VLAD over them; without, the map holds neither until extend_map adds others.
  bool sift = true;
  FeatureOptions map_features{.max_features = 0};  // offline: all of them
  TieOptions tie;
  VladTraining vlad;
  int vlad_long_side_px = 512;
  void validate() const;  // throws Error(bad_option)
};

struct MapBuildReport {
  std::size_t images = 0;
  std::size_t points = 0;
  std::size_t observations = 0;
  std::size_t tied_observations = 0;
  std::size_t points_with_descriptors = 0;
  std::size_t missing_photos = 0;
  Georegistration georegistration;
  std::vector<Finding> findings;
};

// Throws Error for a model or output that cannot be used. Photos that are missing or damaged are
// findings, as long as one can be read.
MapBuildReport build_map(const MapBuildOptions& options, Progress& progress);

// Size of each of the model's photos under `images`; empty where it cannot be read.
std::vector<std::optional<PhotoSize>> photo_sizes(const ColmapModel& model,
                                                  const std::filesystem::path& images);

}  // namespace skyfix
