// A stand-in for a network of local features: a picture's own grey values around a place describe
// it, so that it works without weights and, like the real ones, only for pictures of about the same
// heading. For tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/features/local_features.h"
#include "skyfix/localize/map_extend.h"
#include "skyfix/localize/world_testing.h"
#include "skyfix/models/local_network.h"

namespace skyfix {

class PatchNetwork : public LocalNetwork {
 public:
  static constexpr int kSide = 8;      // samples across a patch
  static constexpr float kStepPx = 3;  // between them
  static constexpr int kMinSidePx = 32;

  explicit PatchNetwork(std::string hash = "patches") : hash_(std::move(hash)) {}

  std::string_view kind() const override { return "patch"; }
  int dimension() const override { return kSide * kSide; }
  std::string weights_hash() const override { return hash_; }

  std::unique_ptr<Maps> maps(const PictureView& picture) const override {
    if (std::min(picture.width, picture.height) < kMinSidePx) {
      throw Error(Reason::image_too_small, "at least 32 px a side are needed");
    }
    Image image{picture.width, picture.height, picture.channels, {}};
    image.pixels.assign(picture.pixels, picture.pixels + std::size_t(picture.width) *
                                                             picture.height * picture.channels);
    auto maps = std::make_unique<Grey>();
    maps->grey = blur(picture.channels == 3 ? to_grey(image) : image, 1.0);
    return maps;
  }

  NetworkFeatures detect(const Maps& maps, const DetectOptions& options) const override {
    const auto keypoints =
        make_local_features("sift", {.max_features = options.max_features})->extract(grey(maps));
    NetworkFeatures found;
    found.dimension = dimension();
    for (const Keypoint& keypoint : keypoints.keypoints) {
      found.xy.insert(found.xy.end(), {keypoint.x, keypoint.y});
      found.score.push_back(keypoint.response);
    }
    found.descriptors = describe(maps, found.xy);
    return found;
  }

  std::vector<float> describe(const Maps& maps, std::span<const float> xy) const override {
    std::vector<float> rows;
    rows.reserve(xy.size() / 2 * dimension());
    for (std::size_t i = 0; i + 1 < xy.size(); i += 2) append(grey(maps), xy[i], xy[i + 1], rows);
    return rows;
  }

 private:
  struct Grey : Maps {
    Image grey;
  };
  static const Image& grey(const Maps& maps) { return static_cast<const Grey&>(maps).grey; }

  static float value(const Image& image, float x, float y) {
    const float left = std::clamp(x - 0.5f, 0.0f, float(image.width - 1));
    const float top = std::clamp(y - 0.5f, 0.0f, float(image.height - 1));
    const int x0 = std::min(int(left), image.width - 2), y0 = std::min(int(top), image.height - 2);
    const float fx = left - float(x0), fy = top - float(y0);
    const auto at = [&](int dx, int dy) { return float(image.row(y0 + dy)[x0 + dx]); };
    return (1 - fy) * ((1 - fx) * at(0, 0) + fx * at(1, 0)) +
           fy * ((1 - fx) * at(0, 1) + fx * at(1, 1));
  }

  // Zeros where the patch is flat.
  static void append(const Image& image, float x, float y, std::vector<float>& rows) {
    float patch[kSide * kSide];
    float mean = 0;
    for (int j = 0; j < kSide; ++j) {
      for (int i = 0; i < kSide; ++i) {
        const float half = 0.5f * float(kSide - 1);
        const float sample =
            value(image, x + kStepPx * (float(i) - half), y + kStepPx * (float(j) - half));
        patch[j * kSide + i] = sample;
        mean += sample / float(kSide * kSide);
      }
    }
    float sum = 0;
    for (float& sample : patch) {
      sample -= mean;
      sum += sample * sample;
    }
    const float scale = sum > 1e-3f ? 1 / std::sqrt(sum) : 0;
    for (const float sample : patch) rows.push_back(scale * sample);
  }

  std::string hash_;
};

// The small world's map with patches at its observations, made once for the test binary.
inline const Map& patch_map() {
  static const Map map = [] {
    const SmallWorld& world = SmallWorld::instance();
    const std::filesystem::path folder = world.folder() / "patch_map";
    std::filesystem::copy(world.map().folder(), folder, std::filesystem::copy_options::recursive);
    MapAdditions additions;
    additions.networks = {std::make_shared<PatchNetwork>()};
    NoProgress quiet;
    extend_map(folder, additions, quiet);
    return Map::open(folder);
  }();
  return map;
}

}  // namespace skyfix
