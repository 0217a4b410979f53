// How far a device's numbers are from those stored, through the networks' public doors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "bench/models_benchmark.h"
#include "skyfix/match/mutual_nearest.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix::bench {
namespace {

constexpr int kWidth = 128, kHeight = 96;

std::vector<float> floats_of(const TensorSource& goldens, const std::string& name) {
  const StoredTensor* stored = goldens.find(name);
  if (stored == nullptr) throw std::runtime_error("no stored values called " + name);
  std::vector<float> values(stored->elements());
  std::memcpy(values.data(), stored->bytes.data(), stored->bytes.size());
  return values;
}

// The picture that a normalised input [1,3,H,W] was made of.
BytePicture picture_of(const std::vector<float>& input, const std::array<double, 3>& mean,
                       const std::array<double, 3>& deviation) {
  BytePicture picture{std::vector<std::uint8_t>(input.size()), kWidth, kHeight, 3};
  const std::size_t pixels = std::size_t(kWidth) * kHeight;
  for (std::size_t i = 0; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) {
      const double value = (input[c * pixels + i] * deviation[c] + mean[c]) * 255;
      picture.pixels[3 * i + c] = std::uint8_t(std::clamp(std::lround(value), 0L, 255L));
    }
  }
  return picture;
}

Deviation of_rows(std::string what, std::vector<float> found, std::vector<float> wanted,
                  std::size_t size) {
  Deviation result{std::move(what)};
  const auto normalise = [size](std::vector<float>& rows) {
    for (std::size_t i = 0; i < rows.size(); i += size) {
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k) sum += double(rows[i + k]) * rows[i + k];
      for (std::size_t k = 0; k < size; ++k) rows[i + k] = float(rows[i + k] / std::sqrt(sum));
    }
  };
  normalise(found);
  normalise(wanted);
  for (std::size_t i = 0; i < found.size(); i += size) {
    double cosine = 0;
    for (std::size_t k = i; k < i + size; ++k) {
      cosine += double(found[k]) * wanted[k];
      result.largest = std::max(result.largest, std::abs(double(found[k]) - wanted[k]));
    }
    result.least_cosine = std::min(result.least_cosine, cosine);
  }
  return result;
}

// Vectors of `size` entries against the wanted one's length and `floor`, as their tolerances are
// stated.
Deviation relative(std::string what, const std::vector<float>& found,
                   const std::vector<float>& wanted, std::size_t size, double floor) {
  Deviation result{std::move(what)};
  for (std::size_t i = 0; i < found.size(); i += size) {
    double difference = 0, length = 0;
    for (std::size_t k = i; k < i + size; ++k) {
      difference += (double(found[k]) - wanted[k]) * (double(found[k]) - wanted[k]);
      length += double(wanted[k]) * wanted[k];
    }
    result.largest = std::max(result.largest, std::sqrt(difference) / (std::sqrt(length) + floor));
  }
  return result;
}

std::set<std::pair<std::int64_t, std::int64_t>> matches(const std::vector<float>& query,
                                                        const std::vector<float>& map, int size) {
  std::set<std::pair<std::int64_t, std::int64_t>> found;
  for (const MutualPair& pair :
       mutual_pairs(nearest_neighbours({query.data(), std::int64_t(query.size()) / size, size},
                                       {map.data(), std::int64_t(map.size()) / size, size}))) {
    found.emplace(pair.query, pair.map);
  }
  return found;
}

void compare_mast3r(const Mast3r& network, const TensorSource& goldens,
                    std::vector<Deviation>& all) {
  const auto feature = [&](const std::string& name) {
    const BytePicture picture =
        picture_of(floats_of(goldens, "landscape." + name), {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5});
    return network.encode(picture.view(), kWidth);
  };
  const auto query = feature("img1"), reference = feature("img2");
  std::vector<float> xy;
  for (int i = 0; i < kWidth * kHeight; ++i) {
    xy.push_back(float(i % kWidth) + 0.5f);
    xy.push_back(float(i / kWidth) + 0.5f);
  }
  const std::vector<Mast3rReference> references{{reference, xy}};
  network.pairs(*query, references, {.points = true}, [&](std::size_t, const Mast3rPair& pair) {
    const int size = network.config().descriptor_size;
    const auto golden = [&](const std::string& name) {
      return floats_of(goldens, "landscape." + name);
    };
    const auto rows1 = pair.query.to_host(), rows2 = pair.reference.to_host();
    const auto wanted1 = golden("desc1"), wanted2 = golden("desc2");
    Deviation first = of_rows("MASt3R descriptors, view 1", rows1, wanted1, size);
    const auto wanted = matches(wanted1, wanted2, size), found = matches(rows1, rows2, size);
    std::size_t equal = 0;
    for (const auto& match : wanted) equal += found.count(match);
    first.equal_matches = double(equal) / double(std::max<std::size_t>(wanted.size(), 1));
    all.push_back(first);
    all.push_back(of_rows("MASt3R descriptors, view 2", rows2, wanted2, size));
    all.push_back(relative("MASt3R descriptors' confidence (relative)",
                           pair.query_confidence.to_host(), golden("desc_conf1"), 1, 1));
    all.push_back(relative("MASt3R points, view 1 (relative)", pair.query_points.xyz.to_host(),
                           golden("pts3d1"), 3, 0.5));
    all.push_back(relative("MASt3R points, view 2 (relative)", pair.reference_points.xyz.to_host(),
                           golden("pts3d2"), 3, 0.5));
  });
}

void compare_dinov3(const DinoV3& network, const TensorSource& goldens,
                    std::vector<Deviation>& all) {
  const BytePicture picture =
      picture_of(floats_of(goldens, "image"), {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
  const std::size_t width = network.config().width;
  const std::vector<float> value = floats_of(goldens, "qkv11.value");
  const std::vector<float> patches_value(value.begin() + 5 * width, value.end());
  all.push_back(of_rows("DINOv3-L value facet, layer 11",
                        network.patches(picture.view(), 11, DinoV3Facet::value, kWidth).values,
                        patches_value, width));
  all.push_back(of_rows("DINOv3-L patch tokens, layer 23",
                        network.patches(picture.view(), 23, DinoV3Facet::token, kWidth).values,
                        floats_of(goldens, "patch"), width));
}

}  // namespace

std::vector<Deviation> compare_with_goldens(const Mast3r& mast3r, const DinoV3& dinov3,
                                            const std::filesystem::path& folder) {
  std::vector<Deviation> all;
  compare_mast3r(mast3r, *open_tensor_file(folder / "mast3r" / "full_synthetic.safetensors"), all);
  compare_dinov3(dinov3, *open_tensor_file(folder / "dinov3" / "vitl16_synthetic.safetensors"),
                 all);
  return all;
}

}  // namespace skyfix::bench
