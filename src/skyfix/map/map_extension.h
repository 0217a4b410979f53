// Adds kinds of features and places to a map that is there. Everything else stays as it is: its
// files are linked into the new folder (copied where links cannot be), which replaces the old one
// whole or not at all.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skyfix/map/map_folder.h"

namespace skyfix {

class MapExtension {
 public:
  // `map` must outlive it; after write() it still shows the old content.
  explicit MapExtension(const Map& map) : map_(map) {}

  // One entry per image of the map, observations counted within the image. A kind of that name is
  // replaced.
  void add_features(const std::string& kind, int dimension,
                    std::vector<MapWriter::ImageFeatures> by_image);
  void add_places(const std::string& kind, PlaceTable table);
  void set_note(const std::string& key, nlohmann::json value);

  // Throws Error(unwritable_output); the map is then as it was.
  void write();

 private:
  struct FeatureTable {
    int dimension = 0;
    std::vector<MapWriter::ImageFeatures> by_image;
  };
  const Map& map_;
  std::map<std::string, FeatureTable> features_;
  std::map<std::string, PlaceTable> places_;
  std::map<std::string, nlohmann::json> notes_;
};

}  // namespace skyfix
