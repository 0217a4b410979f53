// Adds what networks make of the photos to a map that is there: local descriptors exactly at the
// map's observations, and places.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skyfix/base/progress.h"
#include "skyfix/features/network_features.h"
#include "skyfix/map/map_folder.h"
#include "skyfix/models/dinov3/dinov3.h"
#include "skyfix/models/local_network.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix {

struct MapAdditions {
  std::filesystem::path images;  // the map's photos; empty = where the map was built from
  std::vector<std::shared_ptr<const LocalNetwork>> networks;
  std::shared_ptr<const DinoV3> dinov3;  // null = no places by DINOv3
  int long_side_px = kNetworkLongSidePx;
  int place_long_side_px = 512;
  VladTraining vlad;  // over the first network's features, where the map has no VLAD yet
};

struct MapExtendReport {
  struct Kind {
    std::string name;
    std::size_t rows = 0;
  };
  std::vector<Kind> features;
  std::vector<std::string> places;
  std::size_t missing_photos = 0;
};

// Throws Error for a map that cannot be read or written and for photos of which none can be read;
// the map is then as it was. Photos of another size than their camera get no descriptors.
MapExtendReport extend_map(const std::filesystem::path& map_folder, const MapAdditions& additions,
                           Progress& progress);

// Where the map's photos are: `given`, else the folder the map notes. Throws
// Error(unreadable_file) saying which option to give where it is not there.
std::filesystem::path map_photo_folder(const Map& map, const std::filesystem::path& given);

}  // namespace skyfix
