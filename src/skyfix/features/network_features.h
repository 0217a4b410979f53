// Local features of a network (XFeat, ALIKED) behind the interface of all local features.
#pragma once

#include <memory>

#include "skyfix/features/local_features.h"
#include "skyfix/models/local_network.h"
#include "skyfix/nn/picture_view.h"

namespace skyfix {

// Networks see pictures at about the size they were trained for: more pixels cost time and memory
// and bring nothing.
inline constexpr int kNetworkLongSidePx = 1600;
inline constexpr int kNetworkMaxFeatures = 4096;

PictureView picture_view(const Image& image);

// A picture with a longer side than `max_long_side_px` is shrunk first (0 = never).
std::unique_ptr<LocalFeatures> make_network_features(std::shared_ptr<const LocalNetwork> network,
                                                     int max_features = kNetworkMaxFeatures,
                                                     int max_long_side_px = kNetworkLongSidePx);

}  // namespace skyfix
