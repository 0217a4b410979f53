// Places by DINOv3: VLAD over the patch vectors of one layer (AnyLoc, Keetha et al. 2023, with
// DINOv3 in the place of DINOv2). Specification: dinov3.md section 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/models/dinov3/dinov3.h"
#include "skyfix/models/guarded.h"
#include "skyfix/retrieval/global_descriptor.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix {

// All that a map's descriptors depend on besides its vocabulary. Written with the map, so that
// queries are described alike.
struct DinoV3PlaceSettings {
  std::string model;         // "dinov3-vitl16", "dinov3-vitl16-sat": also the kind of the places
  std::string weights_hash;  // SHA-256 of the weights
  int layer = 0;             // from 0
  DinoV3Facet facet = DinoV3Facet::value;
  DinoV3Colours colours = DinoV3Colours::web;
  int long_side_px = 512;  // never enlarged; both sides to the nearest multiple of the patch
  bool operator==(const DinoV3PlaceSettings&) const = default;
};

// The usual ones of a network: the value facet at four fifths of its depth.
DinoV3PlaceSettings dinov3_place_settings(const DinoV3& network, int long_side_px = 512);

// As JSON text, for the map's note, and back. Throws Error(bad_map).
std::string dinov3_settings_text(const DinoV3PlaceSettings& settings);
DinoV3PlaceSettings parse_dinov3_settings(std::string_view text);

// 32 clusters; fewer samples than for local features, whose rows are shorter.
VladTraining dinov3_training();

// What a vocabulary is trained from: unit rows [n, width] of a picture's patches, all of them or
// `max_rows` (0 = all) drawn from equal stretches with the seed.
std::vector<float> dinov3_local_rows(const DinoV3& network, const DinoV3PlaceSettings& settings,
                                     const Image& image, std::size_t max_rows = 0,
                                     std::uint64_t seed = 1);

// What to do where the network's device runs out of memory (models/guarded.h). Without a device:
// nothing.
struct DinoV3Guard {
  Device* device = nullptr;
  std::vector<ReleasableCache*> caches{};
  Guarded<DinoV3>::MakeTwin make_twin{};
};

// `centres` [clusters, width] must outlive the descriptor. Throws Error(bad_map) when they do not
// fit the network, Error(bad_weights) when the settings tell of another network than this.
std::unique_ptr<GlobalDescriptor> make_dinov3_descriptor(std::shared_ptr<const DinoV3> network,
                                                         DinoV3PlaceSettings settings,
                                                         std::span<const float> centres,
                                                         int clusters, std::string vocabulary_hash,
                                                         const DinoV3Guard& guard = {});

}  // namespace skyfix
