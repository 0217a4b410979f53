// From a picture as shown to what the network sees (specification: gctstream.md section 3), and
// back: what a network pixel is in the picture.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "skyfix/geo/camera.h"
#include "skyfix/geo/rigid3.h"
#include "skyfix/image/image.h"
#include "skyfix/nn/resample.h"

namespace skyfix {

enum class GctFit { crop, pad };  // crop is what the reference's tools use
std::string_view gct_fit_name(GctFit fit);

// Where the network's picture lies in the source's: network = (source * scale) - offset, px.
struct GctFrameMap {
  int source_width = 0, source_height = 0;    // as shown
  int network_width = 0, network_height = 0;  // multiples of 14
  double scale_x = 1, scale_y = 1;
  double offset_x = 0,
         offset_y = 0;  // network px cut off (crop, positive) or added (pad, negative)
};
// Throws Error(bad_option) for an image_size that is no multiple of 14, Error(image_too_small) for
// a picture too flat for one row of patches.
GctFrameMap gct_frame_map(int width, int height, int image_size = 518, GctFit fit = GctFit::crop);

// `rgb` is as shown, 3 channels.
BytePicture gct_picture(const Image& rgb, const GctFrameMap& map);
// Centred in a larger network size and padded with white, for streams of mixed sizes; the map is
// moved along. Neither side may shrink.
void pad_to(BytePicture& picture, GctFrameMap& map, int network_width, int network_height);

// Both cameras have this repository's pixel convention (the corner of the top-left pixel is
// (0, 0)): the network's principal point is (W/2, H/2), the middle of its picture, which resizing,
// cropping and padding carry exactly to the source's picture (off its middle where they were not
// symmetric). A point in camera coordinates seen at network position n is seen at source position
// (n + offset) / scale. The network itself was trained to unproject the depth of pixel (column u,
// row v) at (u, v) and not at its middle (u + 0.5, v + 0.5): whoever unprojects does the same with
// network_camera (report/cloud.h), and no half pixel is hidden in the cameras.
struct GctView {
  Rigid3 cam_from_world;  // OpenCV axes; from the camera-to-world that the network predicts
  Camera network_camera;  // PINHOLE at the network's size
  Camera source_camera;   // PINHOLE at the size of the picture as shown: what a user works with
};
// `pose` as StreamPrediction::pose. nullopt when it is not finite, its quaternion is zero, or a
// field of view is 0 or reaches 180 degrees.
std::optional<GctView> gct_view(const std::array<double, 9>& pose, const GctFrameMap& map);

}  // namespace skyfix
