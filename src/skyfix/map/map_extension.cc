#include "skyfix/map/map_extension.h"

#include <cassert>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/map/map_kind_tables.h"
#include "skyfix/map/map_publish.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

// The old file under the new folder, too.
void keep_table(const fs::path& from, const fs::path& to) {
  make_folder(to.parent_path());
  std::error_code failure;
  fs::create_hard_link(from, to, failure);
  if (failure) fs::copy_file(from, to, failure);
  if (failure) {
    throw Error(Reason::unwritable_output, "cannot keep a table of the map: " + failure.message(),
                to);
  }
}

}  // namespace

void MapExtension::add_features(const std::string& kind, int dimension,
                                std::vector<MapWriter::ImageFeatures> by_image) {
  assert(map_manifest::is_kind_name(kind) && dimension > 0);
  assert(by_image.size() == map_.image_count());
  features_[kind] = {dimension, std::move(by_image)};
}

void MapExtension::add_places(const std::string& kind, PlaceTable table) {
  assert(map_manifest::is_kind_name(kind));
  assert(table.descriptors.size() == table.vocabulary.size() * map_.image_count());
  places_[kind] = std::move(table);
}

void MapExtension::set_note(const std::string& key, nlohmann::json value) {
  notes_[key] = std::move(value);
}

void MapExtension::write() {
  map_manifest::Manifest manifest =
      map_manifest::from_json(map_.manifest(), map_.folder() / map_manifest::kFileName);
  const auto drop = [&](const std::string& folder) {
    std::erase_if(manifest.tables,
                  [&](const auto& table) { return table.first.starts_with(folder); });
  };
  for (const auto& [kind, table] : features_) drop("features/" + kind + "/");
  for (const auto& [kind, table] : places_) drop("places/" + kind + "/");

  PartialMapFolder partial(map_.folder(), /*overwrite=*/true);
  for (const auto& [path, table] : manifest.tables) {
    keep_table(map_.folder() / path, partial.path() / path);
  }
  MapTableWriter out(partial.path());
  for (const auto& [kind, table] : features_) {
    write_feature_tables(out, kind, table.dimension, table.by_image,
                         [&](std::size_t image, std::uint32_t observation) {
                           const std::uint64_t row = map_.observation_offset()[image] + observation;
                           assert(row < map_.observation_offset()[image + 1]);
                           return map_.observation_point()[row];
                         });
    manifest.features[kind] = {table.dimension};
  }
  for (const auto& [kind, table] : places_) {
    manifest.places[kind] = write_place_tables(out, kind, table);
  }
  manifest.tables.insert(out.tables().begin(), out.tables().end());
  for (const auto& [key, value] : notes_) manifest.notes[key] = value;
  write_file_atomic(partial.path() / map_manifest::kFileName,
                    map_manifest::to_json(manifest).dump(1) + "\n");
  partial.publish();
}

}  // namespace skyfix
