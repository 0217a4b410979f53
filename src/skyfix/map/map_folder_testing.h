// A small map with features and places. For tests only.
#pragma once

#include <filesystem>

#include "skyfix/map/map_folder.h"
#include "skyfix/map/map_testing.h"

namespace skyfix {

// Features "sift" of dimension 4 (image i of the map has i of them) and places "vlad-sift" (2
// clusters of dimension 3); at the origin (46.8425, -91.994); camera 7 is a DJI FC300S.
inline void write_full_map(const ColmapModel& model, const std::filesystem::path& folder,
                           bool overwrite = false) {
  MapWriter writer(model,
                   georegistration_at_origin({46.8425, -91.994, 0}, AltitudeDatum::ellipsoid));
  const std::size_t images = writer.model_image_of().size();
  std::vector<MapWriter::ImageFeatures> features(images);
  for (std::size_t i = 0; i < images; ++i) {
    for (std::uint32_t k = 0; k < i; ++k) {
      features[i].observation.push_back(k);
      features[i].pixel.insert(features[i].pixel.end(), {k + 0.5f, i + 0.25f});
      features[i].descriptor.insert(features[i].descriptor.end(), {10.0f * i, 1.0f * k, 0, 1});
    }
  }
  writer.add_features("sift", 4, std::move(features));
  writer.add_places("vlad-sift", 2, 3, {1, 2, 3, 4, 5, 6}, std::vector<float>(6 * images, 0.5f));
  writer.set_camera_identity(CameraId(7), "DJI", "FC300S");
  writer.set_note("source", "sparse/0");
  writer.write(folder, overwrite);
}

}  // namespace skyfix
