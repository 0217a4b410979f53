// The memory models of local features and their learned matchers, for one photo (or pair of photos)
// at a time in float32. Parameter counts are those of the files; workspaces are estimates from the
// sizes of the maps that live together.
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/memory/footprint.h"

namespace skyfix {

enum class FeatureKind { sift, xfeat, aliked, mast3r };
std::string_view feature_kind_name(FeatureKind kind);
// Throws Error(bad_option) naming `option` for any other name.
FeatureKind feature_kind_from_name(std::string_view name, std::string_view option);

// Values a descriptor: 128, 64, 128, 24.
std::int64_t descriptor_dimension(FeatureKind kind);
// The long side of the picture that the features are found in, px, unless the user says otherwise.
std::int64_t default_feature_long_side(FeatureKind kind);
// Rows of a query, at most, unless the user says otherwise; 0 = one for each pixel (mast3r).
std::int64_t default_query_rows(FeatureKind kind);

// Pixels of a photo scaled (never up) to the long side.
std::int64_t scaled_pixels(std::int64_t width, std::int64_t height, std::int64_t long_side);

// Extraction from one photo: sift runs on the host, xfeat and aliked on the device. (mast3r has a
// model of its own, footprint_mast3r.h.)
std::vector<ComponentNeed> feature_needs(FeatureKind kind, std::int64_t pixels);

// LightGlue (aliked) or LighterGlue (xfeat) on one pair of photos; nothing for the other kinds.
std::vector<ComponentNeed> glue_needs(FeatureKind kind, std::int64_t query_rows,
                                      std::int64_t reference_rows);

}  // namespace skyfix
