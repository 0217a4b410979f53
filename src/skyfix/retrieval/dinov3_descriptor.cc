#include "skyfix/retrieval/dinov3_descriptor.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr std::size_t kTrainingRows = 50000;  // 200 MB at a width of 1,024

PatchVectors patches_of(const DinoV3& network, const DinoV3PlaceSettings& settings,
                        const Image& image) {
  // A photo of full size and one that was decoded smaller come to nearly the same pixels this way,
  // and the network is not sent 20 megapixels.
  const Image small = shrink_to(image, settings.long_side_px);
  const PictureView view{small.pixels.data(), small.width, small.height, small.channels};
  return network.patches(view, settings.layer, settings.facet, settings.long_side_px);
}

void check_settings(const DinoV3PlaceSettings& settings, const DinoV3& network) {
  const DinoV3PlaceSettings here = dinov3_place_settings(network);
  std::string other;
  const auto compare = [&](const std::string& what, std::string_view map, std::string_view given) {
    if (map == given) return;
    other +=
        (other.empty() ? "" : "; ") + what + " " + std::string(map) + ", not " + std::string(given);
  };
  compare("the model", settings.model, here.model);
  compare("weights with SHA-256", settings.weights_hash, here.weights_hash);
  compare("colours", dinov3_colours_name(settings.colours), dinov3_colours_name(here.colours));
  if (other.empty()) return;
  throw Error(Reason::bad_weights,
              "the map's places were described with another network than the one given: " + other +
                  "; give the weights that the map was built with, or build its places again");
}

class DinoV3Place : public GlobalDescriptor {
 public:
  DinoV3Place(std::shared_ptr<const DinoV3> network, DinoV3PlaceSettings settings,
              std::span<const float> centres, int clusters, std::string vocabulary_hash,
              const DinoV3Guard& guard)
      : guarded_(std::move(network), guard.make_twin, guard.device, guard.caches),
        settings_(std::move(settings)),
        centres_(centres),
        clusters_(clusters),
        vocabulary_hash_(std::move(vocabulary_hash)) {}

  std::string_view kind() const override { return settings_.model; }
  int dimension() const override { return int(centres_.size()); }
  int long_side() const override { return settings_.long_side_px; }
  std::string vocabulary_hash() const override { return vocabulary_hash_; }
  bool wants_colour() const override { return true; }
  bool turn_matters() const override { return true; }
  std::vector<float> compute(const Image& image) const override {
    const std::lock_guard lock(mutex_);
    RetryReport retries;
    const PatchVectors patches = guarded_.run(retries, [&](const DinoV3& network, const Effort&) {
      return patches_of(network, settings_, image);
    });
    return vlad_of_rows(centres_, clusters_, patches.values);
  }

 private:
  mutable std::mutex mutex_;
  mutable Guarded<DinoV3> guarded_;
  DinoV3PlaceSettings settings_;
  std::span<const float> centres_;
  int clusters_;
  std::string vocabulary_hash_;
};

// Values outside the enumeration are an error like a missing entry.
template <class Enum>
Enum known(const std::optional<Enum>& value, std::string_view what) {
  if (value) return *value;
  throw Error(Reason::bad_map, "the map's note about its places names an unknown " +
                                   std::string(what) + "; build the map again");
}

}  // namespace

DinoV3PlaceSettings dinov3_place_settings(const DinoV3& network, int long_side_px) {
  DinoV3PlaceSettings settings;
  settings.model = network.model();
  settings.weights_hash = network.weights_hash();
  settings.layer = dinov3_place_layer(network.config());
  settings.colours = network.colours();
  settings.long_side_px = long_side_px;
  return settings;
}

std::string dinov3_settings_text(const DinoV3PlaceSettings& settings) {
  return nlohmann::ordered_json{{"model", settings.model},
                                {"weights_sha256", settings.weights_hash},
                                {"layer", settings.layer},
                                {"facet", dinov3_facet_name(settings.facet)},
                                {"colours", dinov3_colours_name(settings.colours)},
                                {"long_side_px", settings.long_side_px}}
      .dump();
}

DinoV3PlaceSettings parse_dinov3_settings(std::string_view text) {
  DinoV3PlaceSettings settings;
  try {
    const auto said = nlohmann::json::parse(text);
    settings.model = said.at("model").get<std::string>();
    settings.weights_hash = said.at("weights_sha256").get<std::string>();
    settings.layer = said.at("layer").get<int>();
    settings.facet = known(dinov3_facet(said.at("facet").get<std::string>()), "facet");
    settings.colours = known(dinov3_colours(said.at("colours").get<std::string>()), "colours");
    settings.long_side_px = said.at("long_side_px").get<int>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(Reason::bad_map, "the map's note about its places cannot be read (" +
                                     std::string(error.what()) + "); build the map again");
  }
  return settings;
}

VladTraining dinov3_training() {
  VladTraining training;
  training.clusters = 32;
  training.max_samples = kTrainingRows;
  return training;
}

std::vector<float> dinov3_local_rows(const DinoV3& network, const DinoV3PlaceSettings& settings,
                                     const Image& image, std::size_t max_rows, std::uint64_t seed) {
  PatchVectors patches = patches_of(network, settings, image);
  const std::size_t width = std::size_t(patches.dimension);
  const std::size_t count = patches.values.size() / width;
  if (max_rows == 0 || count <= max_rows) return std::move(patches.values);
  // A fixed step would draw the same columns of the picture again and again.
  std::mt19937_64 random(seed);
  std::vector<float> rows;
  rows.reserve(max_rows * width);
  for (std::size_t i = 0; i < max_rows; ++i) {
    const std::size_t begin = i * count / max_rows, end = (i + 1) * count / max_rows;
    const float* row = patches.values.data() + (begin + random() % (end - begin)) * width;
    rows.insert(rows.end(), row, row + width);
  }
  return rows;
}

std::unique_ptr<GlobalDescriptor> make_dinov3_descriptor(std::shared_ptr<const DinoV3> network,
                                                         DinoV3PlaceSettings settings,
                                                         std::span<const float> centres,
                                                         int clusters, std::string vocabulary_hash,
                                                         const DinoV3Guard& guard) {
  check_settings(settings, *network);
  const DinoV3Config& config = network->config();
  if (clusters < 1 || centres.size() != std::size_t(clusters) * std::size_t(config.width)) {
    throw Error(Reason::bad_map, "the place vocabulary does not fit " + settings.model + " (" +
                                     std::to_string(config.width) +
                                     " values a patch); build the map again");
  }
  if (settings.layer < 0 || settings.layer >= config.blocks || settings.long_side_px < 1) {
    throw Error(Reason::bad_map, "the map's note about its places names layer " +
                                     std::to_string(settings.layer) + " and a long side of " +
                                     std::to_string(settings.long_side_px) + " px, which " +
                                     settings.model + " does not have; build the map again");
  }
  return std::make_unique<DinoV3Place>(std::move(network), std::move(settings), centres, clusters,
                                       std::move(vocabulary_hash), guard);
}

}  // namespace skyfix
