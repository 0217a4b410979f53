#include "skyfix/models/mast3r/mast3r_heads_torch.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace skyfix::mast3r {
namespace {

// Places of one pixel of the patch that are evaluated together: bounds the gathered hidden rows.
constexpr std::int64_t kGatheredDepth = 8;

std::string numbered(const std::string& beginning, int level, const std::string& end) {
  return beginning + std::to_string(level) + end;
}

// [B, tokens, width] -> [B, width, rows, columns]
at::Tensor as_map(const at::Tensor& tokens, const TokenGrid& grid) {
  return tokens.transpose(1, 2).unflatten(2, {grid.rows, grid.columns});
}

// Which tokens each pixel of the patch is wanted at, padded to one depth.
struct PatchGroups {
  std::int64_t depth = 0;
  std::vector<std::int64_t> tokens;  // [patch pixels, depth]; 0 where padded
  std::vector<std::int64_t> slots;   // [n] index into [patch pixels, depth]; 0 for none
};

PatchGroups group_by_patch_pixel(std::span<const std::int64_t> pixels, const TokenGrid& grid,
                                 std::int64_t patch) {
  const std::int64_t width = grid.columns * patch, patch_pixels = patch * patch;
  std::vector<std::int64_t> filled(patch_pixels);
  std::vector<std::pair<std::int64_t, std::int64_t>> places(pixels.size());  // patch pixel, rank
  PatchGroups groups;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] < 0) continue;
    // Heights are multiples of the patch, so rows may run on through the batch.
    const std::int64_t row = pixels[i] / width, column = pixels[i] % width;
    const std::int64_t inside = row % patch * patch + column % patch;
    places[i] = {inside, filled[inside]++};
    groups.depth = std::max(groups.depth, filled[inside]);
  }
  groups.tokens.resize(patch_pixels * groups.depth);
  groups.slots.resize(pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] < 0) continue;
    const std::int64_t row = pixels[i] / width, column = pixels[i] % width;
    groups.slots[i] = places[i].first * groups.depth + places[i].second;
    groups.tokens[groups.slots[i]] = row / patch * grid.columns + column / patch;
  }
  return groups;
}

at::Tensor upload(const std::vector<std::int64_t>& values, at::Device device) {
  return at::tensor(at::ArrayRef<std::int64_t>(values), at::kLong).to(device);
}

// Rows of places that are none.
void blank(Descriptors& found, std::span<const std::int64_t> pixels) {
  std::vector<std::int64_t> none;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] < 0) none.push_back(static_cast<std::int64_t>(i));
  }
  if (none.empty()) return;
  const at::Tensor index = upload(none, found.rows.device());
  found.rows.index_fill_(0, index, std::numeric_limits<double>::quiet_NaN());
  found.confidence.index_fill_(0, index, 0);
}

}  // namespace

PointHead::PointHead(const nn::WeightReader& dpt, const Mast3rConfig& config)
    : confidence_floor_(config.confidence_floor) {
  std::array<std::int64_t, 4> widths{};
  for (int level = 0; level < 4; ++level) {
    widths[level] = config.level_widths[level];
    projections_[level] =
        nn::Convolution(dpt, numbered("act_postprocess.", level, ".0"),
                        {.in = level == 0 ? config.encoder_width : config.decoder_width,
                         .out = widths[level],
                         .kernel = 1,
                         .padding = 0});
  }
  pyramid_ = nn::DptPyramid(
      dpt, {"act_postprocess.0.1", "act_postprocess.1.1", "act_postprocess.3.1"}, widths);
  fusion_ = nn::DptFusion(dpt.under("scratch"), {.widths = widths, .width = config.fused_width});
  const std::int64_t last = config.last_width;
  head0_ = nn::Convolution(dpt, "head.0", {.in = config.fused_width, .out = last});
  head2_ = nn::Convolution(dpt, "head.2", {.in = last, .out = last});
  head4_ = nn::Convolution(dpt, "head.4", {.in = last, .out = 4, .kernel = 1, .padding = 0});
  head0_.expect_channels_last();
  head2_.expect_channels_last();
}

at::Tensor PointHead::raw(const std::array<at::Tensor, 4>& states, const TokenGrid& grid) const {
  std::array<at::Tensor, 4> pyramid;
  for (int level = 0; level < 4; ++level) {
    const at::Tensor map = as_map(states[level].to(head0_.weight.scalar_type()), grid);
    pyramid[level] = pyramid_(projections_[level](map), level);
  }
  const at::Tensor narrow = head0_(fusion_(pyramid));
  const at::Tensor full = nn::resize_corners(narrow, 2 * narrow.size(2), 2 * narrow.size(3));
  return head4_(at::relu(head2_(full)));
}

Points PointHead::operator()(const std::array<at::Tensor, 4>& states, const TokenGrid& grid) const {
  const at::Tensor values = raw(states, grid).to(at::kFloat).permute({0, 2, 3, 1}).contiguous();
  const at::Tensor xyz = values.narrow(-1, 0, 3);
  const at::Tensor distance = xyz.norm(2, -1, /*keepdim=*/true);
  return {(xyz / distance.clamp_min(1e-8) * distance.expm1()).contiguous(),
          (values.select(-1, 3).exp() + confidence_floor_).contiguous()};
}

DescriptorHead::DescriptorHead(const nn::WeightReader& local, const Mast3rConfig& config)
    : patch_(config.patch),
      channels_(config.descriptor_size + 1),
      confidence_floor_(config.descriptor_confidence_floor) {
  const std::int64_t hidden = config.descriptor_hidden, patch_pixels = patch_ * patch_;
  fc1_ = nn::Linear(local, "fc1", config.encoder_width + config.decoder_width, hidden);
  fc2_ = nn::Linear(local, "fc2", hidden, channels_ * patch_pixels);
  fc2_.weight = fc2_.weight.view({channels_, patch_pixels, hidden}).transpose(0, 1).flatten(0, 1);
  fc2_.bias = fc2_.bias.view({channels_, patch_pixels}).t().flatten();
}

at::Tensor DescriptorHead::hidden(const at::Tensor& feature, const at::Tensor& state) const {
  const at::ScalarType type = fc1_.weight.scalar_type();
  return at::gelu(fc1_(at::cat({feature.to(type), state.to(type)}, -1)));
}

// Of whole rows of tokens: [B, tokens, hidden] -> fp32 [B, pixel rows, pixel columns, channels].
at::Tensor DescriptorHead::raw_of_hidden(const at::Tensor& hidden, std::int64_t columns) const {
  const std::int64_t batch = hidden.size(0), rows = hidden.size(1) / columns;
  const at::Tensor patches = fc2_(hidden).view({batch, rows, columns, patch_, patch_, channels_});
  at::Tensor result = at::empty({batch, rows * patch_, columns * patch_, channels_},
                                hidden.options().dtype(at::kFloat));
  result.view({batch, rows, patch_, columns, patch_, channels_})
      .copy_(patches.permute({0, 1, 3, 2, 4, 5}));
  return result;
}

at::Tensor DescriptorHead::raw(const at::Tensor& feature, const at::Tensor& state,
                               const TokenGrid& grid) const {
  return raw_of_hidden(hidden(feature, state), grid.columns);
}

Descriptors DescriptorHead::outputs(const at::Tensor& raw) const {
  const at::Tensor rows = raw.narrow(-1, 0, channels_ - 1);
  return {(rows / rows.norm(2, -1, /*keepdim=*/true)).contiguous(),
          (raw.select(-1, channels_ - 1).exp() + confidence_floor_).contiguous()};
}

Descriptors DescriptorHead::operator()(const at::Tensor& feature, const at::Tensor& state,
                                       const TokenGrid& grid, std::int64_t token_rows) const {
  if (token_rows <= 0 || token_rows >= grid.rows) return outputs(raw(feature, state, grid));
  const auto fp32 = feature.options().dtype(at::kFloat);
  const std::int64_t batch = feature.size(0), width = grid.columns * patch_;
  Descriptors all{at::empty({batch, grid.rows * patch_, width, channels_ - 1}, fp32),
                  at::empty({batch, grid.rows * patch_, width}, fp32)};
  for (std::int64_t row = 0; row < grid.rows; row += token_rows) {
    const std::int64_t rows = std::min(token_rows, grid.rows - row);
    const std::int64_t first = row * grid.columns, tokens = rows * grid.columns;
    const Descriptors part = outputs(raw(feature.narrow(1, first, tokens),
                                         state.narrow(1, first, tokens), {rows, grid.columns}));
    all.rows.narrow(1, row * patch_, rows * patch_).copy_(part.rows);
    all.confidence.narrow(1, row * patch_, rows * patch_).copy_(part.confidence);
  }
  return all;
}

// hidden [tokens, hidden]; each of the patch's pixels at `depth` tokens of its own:
// [patch pixels * depth, channels] in fp32.
at::Tensor DescriptorHead::raw_at(const at::Tensor& hidden, const std::vector<std::int64_t>& tokens,
                                  std::int64_t depth) const {
  const std::int64_t patch_pixels = patch_ * patch_, width = hidden.size(1);
  const at::Tensor index = upload(tokens, hidden.device()).view({patch_pixels, depth});
  const at::Tensor weight = fc2_.weight.view({patch_pixels, channels_, width}).transpose(1, 2);
  const at::Tensor bias = fc2_.bias.view({patch_pixels, 1, channels_});
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < depth; first += kGatheredDepth) {
    const std::int64_t count = std::min(kGatheredDepth, depth - first);
    const at::Tensor rows = hidden.index_select(0, index.narrow(1, first, count).flatten())
                                .view({patch_pixels, count, width});
    parts.push_back(at::baddbmm(bias, rows, weight));
  }
  return at::cat(parts, 1).flatten(0, 1).to(at::kFloat);
}

Descriptors DescriptorHead::at_pixels(const at::Tensor& rows, const TokenGrid& grid,
                                      std::span<const std::int64_t> pixels) const {
  const PatchGroups groups = group_by_patch_pixel(pixels, grid, patch_);
  const auto fp32 = rows.options().dtype(at::kFloat);
  Descriptors found;
  if (groups.depth == 0) {
    const auto count = static_cast<std::int64_t>(pixels.size());
    found = {at::empty({count, channels_ - 1}, fp32), at::empty({count}, fp32)};
  } else {
    const bool few = 4 * groups.depth < rows.size(0) * rows.size(1);
    // A pixel of the patch that is wanted at many tokens: then all pixels are no dearer.
    const at::Tensor raw = few ? raw_at(rows.flatten(0, 1), groups.tokens, groups.depth)
                               : raw_of_hidden(rows, grid.columns).flatten(0, 2);
    std::vector<std::int64_t> index = groups.slots;
    if (!few) {
      std::transform(pixels.begin(), pixels.end(), index.begin(),
                     [](std::int64_t pixel) { return std::max<std::int64_t>(pixel, 0); });
    }
    found = outputs(raw.index_select(0, upload(index, raw.device())));
  }
  blank(found, pixels);
  return found;
}

}  // namespace skyfix::mast3r
