// map.json: what a map folder says about itself, as values, and the names of its tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/map/map_folder.h"

namespace skyfix::map_manifest {

inline constexpr std::string_view kFormat = "skyfix-map";
inline constexpr const char* kFileName = "map.json";

struct Table {
  std::uint64_t bytes = 0;  // of the whole file
  std::string sha256;
};

struct FeatureKind {
  int dimension = 0;
};

struct PlaceKind {
  int clusters = 0;
  int local_dimension = 0;
  std::string vocabulary_hash;
};

struct Manifest {
  std::uint64_t images = 0;
  std::uint64_t points = 0;
  std::uint64_t observations = 0;
  std::vector<MapCamera> cameras;  // sorted by id
  Georegistration georegistration;
  std::map<std::string, FeatureKind> features;
  std::map<std::string, PlaceKind> places;
  std::map<std::string, Table> tables;  // path below the folder -> its file
  nlohmann::json notes = nlohmann::json::object();
};

// SHA-256 over the tables' and vocabularies' hashes, the cameras and the georegistration.
std::string content_hash(const Manifest& manifest);

// The object for map.json; carries version, program version, units and content hash too.
nlohmann::json to_json(const Manifest& manifest);

// The whole of a map.json, then its values. Throw Error(bad_map) for anything malformed,
// Error(map_version) for another version.
nlohmann::json parse_json(std::string_view text, const std::filesystem::path& file);
Manifest from_json(const nlohmann::json& json, const std::filesystem::path& file);
// Throws Error(bad_map) when the content hash that the object holds is not the manifest's.
void require_content_hash(const Manifest& manifest, const nlohmann::json& json,
                          const std::filesystem::path& file);

// A kind becomes a folder name: lower-case letters, digits, '-' and '_' only.
bool is_kind_name(std::string_view kind);

// Paths of tables.
std::string feature_table(std::string_view kind, std::string_view name);
std::string place_table(std::string_view kind, std::string_view name);

}  // namespace skyfix::map_manifest
