// SIFT through OpenCV with RootSIFT descriptors. Sources: Lowe, "Distinctive image features from
// scale-invariant keypoints", IJCV 2004; Arandjelovic and Zisserman, "Three things everyone should
// know to improve object retrieval", CVPR 2012 (RootSIFT).
#pragma once

#include <memory>

#include "skyfix/features/local_features.h"

namespace skyfix {

// Keypoint::scale is the standard deviation of the Gaussian the keypoint was found with, in pixels
// of the image. Descriptors have 128 entries. Also sets OpenCV's thread count to thread_count().
// Throws Error(bad_option) for a negative number of features or contrast.
std::unique_ptr<LocalFeatures> make_sift(const FeatureOptions& options);

}  // namespace skyfix
