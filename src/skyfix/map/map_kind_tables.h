// The tables of one kind of features or places, for whoever writes a map folder.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "skyfix/map/map_folder.h"
#include "skyfix/map/map_table_writer.h"

namespace skyfix {

// Map point index of an observation, by image and index within it.
using PointOfObservation = std::function<std::uint32_t(std::size_t, std::uint32_t)>;

void write_feature_tables(MapTableWriter& out, const std::string& kind, int dimension,
                          std::span<const MapWriter::ImageFeatures> by_image,
                          const PointOfObservation& point_of);
// Gives what the manifest says of it.
map_manifest::PlaceKind write_place_tables(MapTableWriter& out, const std::string& kind,
                                           const PlaceTable& table);

}  // namespace skyfix
