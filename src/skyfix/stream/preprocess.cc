#include "skyfix/stream/preprocess.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/stream/gct_pose.h"

namespace skyfix {
namespace {

constexpr int kPatch = 14;
constexpr std::uint8_t kWhite = 255;

// round(side * (target / other) / 14) * 14, half to even, as the network was trained.
int whole_patches(int side, int target, int other) {
  const double patches = static_cast<double>(side) * (static_cast<double>(target) / other) / kPatch;
  return static_cast<int>(std::nearbyint(patches)) * kPatch;
}

[[noreturn]] void too_flat(int width, int height, int image_size) {
  throw Error(Reason::image_too_small,
              fmt::format("a picture of {} x {} px has no row of patches left at --image-size {}: "
                          "raise it",
                          width, height, image_size));
}

// `inner` in the middle of a white picture.
BytePicture framed(const BytePicture& inner, int width, int height, int left, int top) {
  BytePicture outer{std::vector<std::uint8_t>(std::size_t(width) * height * 3, kWhite), width,
                    height, 3};
  for (int y = 0; y < inner.height; ++y) {
    std::copy_n(inner.pixels.data() + std::size_t(y) * inner.width * 3,
                std::size_t(inner.width) * 3,
                outer.pixels.data() + (std::size_t(y + top) * width + left) * 3);
  }
  return outer;
}

}  // namespace

std::string_view gct_fit_name(GctFit fit) { return fit == GctFit::crop ? "crop" : "pad"; }

GctFrameMap gct_frame_map(int width, int height, int image_size, GctFit fit) {
  if (image_size < kPatch || image_size % kPatch != 0 || image_size > 4'200) {
    throw Error(
        Reason::bad_option,
        fmt::format("--image-size is {}; allowed is a multiple of 14 up to 4200", image_size));
  }
  if (width < 1 || height < 1) too_flat(width, height, image_size);
  GctFrameMap map{.source_width = width, .source_height = height};
  int resized_width = image_size, resized_height = image_size;
  if (fit == GctFit::crop || width >= height) {
    resized_height = whole_patches(height, image_size, width);
  } else {
    resized_width = whole_patches(width, image_size, height);
  }
  if (resized_height == 0 || resized_width == 0) too_flat(width, height, image_size);
  map.scale_x = static_cast<double>(resized_width) / width;
  map.scale_y = static_cast<double>(resized_height) / height;
  if (fit == GctFit::crop) {
    map.network_width = image_size;
    map.network_height = std::min(resized_height, image_size);
    const int cut = (resized_height - map.network_height) / 2;  // the smaller half
    map.offset_y = cut;
  } else {
    map.network_width = map.network_height = image_size;
    const int left = (image_size - resized_width) / 2, top = (image_size - resized_height) / 2;
    map.offset_x = -left;
    map.offset_y = -top;
  }
  return map;
}

BytePicture gct_picture(const Image& rgb, const GctFrameMap& map) {
  assert(rgb.channels == 3 && rgb.width == map.source_width && rgb.height == map.source_height);
  const int width = static_cast<int>(std::lround(map.scale_x * rgb.width)),
            height = static_cast<int>(std::lround(map.scale_y * rgb.height));
  const PictureView view{rgb.pixels.data(), rgb.width, rgb.height, 3};
  BytePicture resized = resample(view, width, height, ResampleFilter::bicubic);
  const int left = static_cast<int>(map.offset_x), top = static_cast<int>(map.offset_y);
  if (left >= 0 && top >= 0) {
    if (width == map.network_width && height == map.network_height) return resized;
    return crop(resized.view(), left, top, map.network_width, map.network_height);
  }
  return framed(resized, map.network_width, map.network_height, -left, -top);
}

void pad_to(BytePicture& picture, GctFrameMap& map, int network_width, int network_height) {
  assert(network_width >= picture.width && network_height >= picture.height);
  if (network_width == picture.width && network_height == picture.height) return;
  const int left = (network_width - picture.width) / 2, top = (network_height - picture.height) / 2;
  picture = framed(picture, network_width, network_height, left, top);
  map.network_width = network_width;
  map.network_height = network_height;
  map.offset_x -= left;
  map.offset_y -= top;
}

std::optional<GctView> gct_view(const std::array<double, 9>& pose, const GctFrameMap& map) {
  for (const double value : pose) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  const double norm = pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6];
  constexpr double kHalfTurn = 3.14159265358979;
  for (const double field : {pose[7], pose[8]}) {
    if (!(field > 0 && field < kHalfTurn)) return std::nullopt;
  }
  if (!(norm > 1e-12)) return std::nullopt;
  const Rigid3 world_from_cam{Eigen::Quaterniond(pose[6], pose[3], pose[4], pose[5]).normalized(),
                              gct_centre(pose)};
  const GctFocal focal = gct_focal(pose, map.network_width, map.network_height);
  if (!std::isfinite(focal.x) || !std::isfinite(focal.y)) return std::nullopt;
  const double cx = map.network_width / 2.0, cy = map.network_height / 2.0;
  GctView view;
  view.cam_from_world = world_from_cam.inverse();
  view.network_camera = {
      CameraModel::pinhole, map.network_width, map.network_height, {focal.x, focal.y, cx, cy}};
  // network = source * scale - offset, the same for the principal point.
  view.source_camera = {CameraModel::pinhole,
                        map.source_width,
                        map.source_height,
                        {focal.x / map.scale_x, focal.y / map.scale_y,
                         (cx + map.offset_x) / map.scale_x, (cy + map.offset_y) / map.scale_y}};
  return view;
}

}  // namespace skyfix
