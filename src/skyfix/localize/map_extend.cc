#include "skyfix/localize/map_extend.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"
#include "skyfix/localize/network_matcher.h"
#include "skyfix/map/map_extension.h"
#include "skyfix/retrieval/dinov3_descriptor.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

// One photo's observations, with descriptors at them.
MapWriter::ImageFeatures describe_photo(const Map& map, std::size_t image, const Image& picture,
                                        const LocalNetwork& network, int long_side_px) {
  MapWriter::ImageFeatures features;
  const Camera& camera = map.camera(map.image_camera(image)).camera;
  if (picture.width != camera.width || picture.height != camera.height) return features;
  const std::uint64_t first = map.observation_offset()[image];
  const std::uint64_t last = map.observation_offset()[image + 1];
  for (std::uint64_t row = first; row < last; ++row) {
    features.observation.push_back(static_cast<std::uint32_t>(row - first));
    features.pixel.push_back(static_cast<float>(map.observation_pixel()[2 * row]));
    features.pixel.push_back(static_cast<float>(map.observation_pixel()[2 * row + 1]));
  }
  features.descriptor = describe_observations(network, picture, features.pixel, long_side_px);
  return features;
}

bool has_vlad(const Map& map) {
  for (const std::string& kind : map.place_kinds()) {
    if (kind.starts_with("vlad-")) return true;
  }
  return false;
}

// Everything that is made of the photos, photo by photo.
class Extender {
 public:
  Extender(const Map& map, const MapAdditions& additions)
      : map_(map), additions_(additions), by_network_(additions.networks.size()) {
    for (auto& rows : by_network_) rows.resize(map.image_count());
    if (!additions.networks.empty() && !has_vlad(map)) {
      place_features_ = make_network_features(additions.networks.front());
      place_sets_.resize(map.image_count());
    }
    if (additions.dinov3) {
      settings_ = dinov3_place_settings(*additions.dinov3, additions.place_long_side_px);
      patch_rows_.resize(map.image_count());
    }
  }

  void read(std::size_t image, const fs::path& file) {
    const Image picture = decode_image(file, {.grey = false});
    for (std::size_t n = 0; n < by_network_.size(); ++n) {
      by_network_[n][image] =
          describe_photo(map_, image, picture, *additions_.networks[n], additions_.long_side_px);
    }
    if (place_features_) {
      place_sets_[image] =
          place_features_->extract(shrink_to(picture, additions_.place_long_side_px));
    }
    if (additions_.dinov3) {
      patch_rows_[image] = dinov3_local_rows(*additions_.dinov3, settings_, picture);
    }
  }

  // Whether the map has one of the kinds already.
  bool replaces() const {
    const auto features = map_.feature_kinds();
    const auto places = map_.place_kinds();
    const auto has = [](const std::vector<std::string>& kinds, std::string_view kind) {
      return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    };
    for (const auto& network : additions_.networks) {
      if (has(features, network->kind())) return true;
    }
    return additions_.dinov3 != nullptr && has(places, settings_.model);
  }

  MapExtendReport write() {
    MapExtendReport report;
    MapExtension extension(map_);
    for (std::size_t n = 0; n < by_network_.size(); ++n) add_network(n, extension, report);
    if (place_features_) {
      add_vlad("vlad-" + std::string(place_features_->kind()), place_features_->dimension(),
               std::move(place_sets_), additions_.vlad, extension, report);
      extension.set_note("vlad_long_side_px", additions_.place_long_side_px);
    }
    if (additions_.dinov3) {
      const int width = additions_.dinov3->config().width;
      std::vector<FeatureSet> sets(map_.image_count());
      for (std::size_t i = 0; i < sets.size(); ++i) {
        sets[i].dimension = width;
        sets[i].descriptors = std::move(patch_rows_[i]);
        sets[i].keypoints.resize(sets[i].descriptors.size() / width);
      }
      add_vlad(settings_.model, width, std::move(sets), dinov3_training(), extension, report);
      extension.set_note("places_" + settings_.model,
                         nlohmann::json::parse(dinov3_settings_text(settings_)));
    }
    extension.write();
    return report;
  }

 private:
  void add_network(std::size_t n, MapExtension& extension, MapExtendReport& report) {
    const LocalNetwork& network = *additions_.networks[n];
    const std::string kind(network.kind());
    std::size_t rows = 0;
    for (const auto& image : by_network_[n]) rows += image.observation.size();
    if (rows == 0) {
      throw Error(Reason::camera_mismatch,
                  "no photo has the size of its camera: the photos are not those the model was "
                  "made from",
                  map_.folder());
    }
    extension.add_features(kind, network.dimension(), std::move(by_network_[n]));
    extension.set_note(network_note_key(kind), {{"weights_sha256", network.weights_hash()},
                                                {"long_side_px", additions_.long_side_px}});
    report.features.push_back({kind, rows});
  }

  static void add_vlad(const std::string& kind, int dimension, std::vector<FeatureSet> sets,
                       const VladTraining& training, MapExtension& extension,
                       MapExtendReport& report) {
    std::vector<float> all;
    for (const FeatureSet& set : sets) {
      all.insert(all.end(), set.descriptors.begin(), set.descriptors.end());
    }
    if (all.empty()) throw Error(Reason::no_features, "the map photos gave no local features");
    const VladVocabulary vocabulary = train_vlad_vocabulary(all, dimension, training);
    PlaceTable table{vocabulary.clusters, dimension, vocabulary.centres, {}};
    for (FeatureSet& set : sets) {
      set.dimension = dimension;
      const auto row = vlad_descriptor(vocabulary.centres, vocabulary.clusters, set);
      table.descriptors.insert(table.descriptors.end(), row.begin(), row.end());
    }
    extension.add_places(kind, std::move(table));
    report.places.push_back(kind);
  }

  const Map& map_;
  const MapAdditions& additions_;
  std::vector<std::vector<MapWriter::ImageFeatures>> by_network_;
  std::unique_ptr<LocalFeatures> place_features_;  // null = VLAD is there already
  std::vector<FeatureSet> place_sets_;
  DinoV3PlaceSettings settings_;
  std::vector<std::vector<float>> patch_rows_;
};

}  // namespace

fs::path map_photo_folder(const Map& map, const fs::path& given) {
  fs::path folder = given;
  if (folder.empty()) {
    const auto& source = map.note("source");
    if (source.is_object() && source.contains("images") && source["images"].is_string()) {
      folder = source["images"].get<std::string>();
    }
  }
  std::error_code failure;
  if (!folder.empty() && fs::is_directory(folder, failure)) return folder;
  throw Error(Reason::unreadable_file,
              "the map's photos are not where they were when it was built; give their folder",
              folder);
}

MapExtendReport extend_map(const fs::path& map_folder, const MapAdditions& additions,
                           Progress& progress) {
  const Map map = Map::open(map_folder);
  const fs::path images = map_photo_folder(map, additions.images);
  Extender extender(map, additions);
  std::size_t missing = 0;
  progress.start("describing photos", map.image_count());
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    try {
      extender.read(i, images / map.image_name(i));
    } catch (const Error& error) {
      ++missing;
      log::warn("{}: {}", map.image_name(i), error.message());
    }
    progress.advance();
  }
  progress.finish();
  if (missing == map.image_count()) {
    throw Error(Reason::unreadable_file, "none of the map's photos can be read here", images);
  }
  if (missing > 0 && extender.replaces()) {
    throw Error(Reason::unreadable_file,
                fmt::format("{} of {} photos of the map cannot be read here: the map keeps the "
                            "descriptors that it has",
                            missing, map.image_count()),
                images);
  }
  MapExtendReport report = extender.write();
  report.missing_photos = missing;
  return report;
}

}  // namespace skyfix
