#include "skyfix/memory/footprint_features.h"

#include <algorithm>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_transformer.h"

namespace skyfix {
namespace {

struct KindFacts {
  FeatureKind kind;
  std::string_view name;
  std::int64_t dimension;
  std::int64_t long_side;
  std::int64_t rows;
};
constexpr KindFacts kKinds[] = {{FeatureKind::sift, "sift", 128, 3200, 20'000},
                                {FeatureKind::xfeat, "xfeat", 64, 1024, 4096},
                                {FeatureKind::aliked, "aliked", 128, 1024, 2048},
                                {FeatureKind::mast3r, "mast3r", 24, 512, 0}};

const KindFacts& facts(FeatureKind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const KindFacts& each) { return each.kind == kind; });
}

struct Glue {
  std::string owner;
  std::int64_t parameters;
  std::int64_t width;
};

// A pair's states and the widest layer (the MLP of twice the width, before and after its
// activation), and the assignment in its three forms: products and both softmaxes.
ComponentNeed glue_need(const Glue& glue, std::int64_t query_rows, std::int64_t reference_rows) {
  const std::int64_t rows = query_rows + reference_rows;
  ComponentNeed need{.owner = glue.owner};
  need.weights_bytes = glue.parameters * 4;
  need.workspace_bytes = rows * glue.width * (1 + 3 + 2 + 2 * 2) * 4 +
                         static_cast<std::uint64_t>(query_rows) * reference_rows * 3 * 4;
  return need;
}

}  // namespace

std::string_view feature_kind_name(FeatureKind kind) { return facts(kind).name; }

FeatureKind feature_kind_from_name(std::string_view name, std::string_view option) {
  for (const KindFacts& each : kKinds) {
    if (each.name == name) return each.kind;
  }
  throw Error(Reason::bad_option, std::string(option) + ": '" + std::string(name) +
                                      "' is none of sift, xfeat, aliked, mast3r");
}

std::int64_t descriptor_dimension(FeatureKind kind) { return facts(kind).dimension; }
std::int64_t default_feature_long_side(FeatureKind kind) { return facts(kind).long_side; }
std::int64_t default_query_rows(FeatureKind kind) { return facts(kind).rows; }

std::int64_t scaled_pixels(std::int64_t width, std::int64_t height, std::int64_t long_side) {
  const double scale =
      std::min(1.0, static_cast<double>(long_side) / static_cast<double>(std::max(width, height)));
  const auto side = [&](std::int64_t of) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(of) * scale));
  };
  return side(width) * side(height);
}

std::vector<ComponentNeed> feature_needs(FeatureKind kind, std::int64_t pixels) {
  ComponentNeed need{.owner = std::string(feature_kind_name(kind))};
  switch (kind) {
    case FeatureKind::sift:
      // Doubled in size, then octaves of a quarter each (x 4/3) of six blurs and five differences,
      // float32.
      need.host_bytes = pixels * 4 * 11 * 4 * 4 / 3;
      return {need};
    case FeatureKind::xfeat:
      // The picture and its grey, eight channels at half size with their inputs, the 65 channels of
      // 8 x 8 cells before and after softmax, the keypoint map and its maxima.
      need.weights_bytes = 1'544'758 * 4;
      need.workspace_bytes = pixels * 20 * 4;
      return {need};
    case FeatureKind::aliked:
      // 16 channels at full size before and after a layer, the score head's 8 channels of four
      // maps, scores and suppression; the 128 channels at full size are never made.
      need.weights_bytes = 678'324 * 4;
      need.workspace_bytes = pixels * 72 * 4;
      return {need};
    case FeatureKind::mast3r:
      return {};
  }
  return {};
}

std::vector<ComponentNeed> glue_needs(FeatureKind kind, std::int64_t query_rows,
                                      std::int64_t reference_rows) {
  if (kind == FeatureKind::xfeat) {
    return {glue_need({"lighterglue", 1'125'995, 96}, query_rows, reference_rows)};
  }
  if (kind == FeatureKind::aliked) {
    return {glue_need({"lightglue", 11'884'625, 256}, query_rows, reference_rows)};
  }
  return {};
}

}  // namespace skyfix
