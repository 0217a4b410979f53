#include "skyfix/models/gct/gct_rotary_torch.h"

namespace skyfix::gct {
namespace {

constexpr double kFrameBase = 100, kGlobalBase = 10000;

// Rows and columns of a frame's tokens, [P] each: special token s at (s * special_step, the same),
// then the patches from `first_patch` on.
struct Places {
  at::Tensor rows, columns;
};
Places places(const GctConfig& config, std::int64_t rows, std::int64_t columns, int special_step,
              int first_patch, const at::TensorOptions& options) {
  const at::Tensor special = at::arange(config.special_tokens(), options) * special_step;
  const at::Tensor y = at::arange(rows, options).unsqueeze(1).expand({rows, columns});
  const at::Tensor x = at::arange(columns, options).unsqueeze(0).expand({rows, columns});
  return {at::cat({special, y.flatten() + first_patch}),
          at::cat({special, x.flatten() + first_patch})};
}

nn::RotaryCode beside(const nn::RotaryCode& first, const nn::RotaryCode& second) {
  return {at::cat({first.sin, second.sin}, -1), at::cat({first.cos, second.cos}, -1)};
}

}  // namespace

Rotation frame_rotation(const GctConfig& config, std::int64_t rows, std::int64_t columns,
                        at::Device device) {
  const Places at = places(config, rows, columns, 0, 1, at::dtype(at::kFloat));
  const std::int64_t half = config.head_size() / 2;
  const at::Tensor angles = at::stack({nn::angles_by_halves(at.rows, half, kFrameBase),
                                       nn::angles_by_halves(at.columns, half, kFrameBase)},
                                      1);
  return {{angles.sin().to(device), angles.cos().to(device)}, 2, false};
}

nn::RotaryCode turned_by(const at::Tensor& positions, std::int64_t dimensions) {
  const at::Tensor exponents =
      at::arange(0, dimensions, 2, positions.options()) / double(dimensions);
  const at::Tensor angles = positions.unsqueeze(1) * at::pow(kGlobalBase, exponents.neg());
  const auto of_both = [](const at::Tensor& of_pairs) {
    const at::Tensor fp32 = of_pairs.to(at::kFloat);
    return at::stack({fp32, fp32}, -1).flatten(-2);
  };
  return {of_both(angles.sin()), of_both(angles.cos())};
}

nn::RotaryCode spatial_code(const GctConfig& config, std::int64_t rows, std::int64_t columns,
                            at::Device device) {
  const Places at =
      places(config, rows, columns, 1, config.special_tokens(), at::dtype(at::kDouble));
  const nn::RotaryCode code = beside(turned_by(at.rows, config.rotary_split[1]),
                                     turned_by(at.columns, config.rotary_split[2]));
  return {code.sin.to(device), code.cos.to(device)};
}

Rotation global_rotation(const GctConfig& config, const at::Tensor& times,
                         const nn::RotaryCode& spatial) {
  const nn::RotaryCode time = turned_by(times, config.rotary_split[0]);
  const std::int64_t frames = times.size(0), tokens = spatial.sin.size(0);
  const auto of_tokens = [&](const at::Tensor& of_frames, const at::Tensor& of_places) {
    return at::cat({of_frames.unsqueeze(1).expand({frames, tokens, -1}),
                    of_places.unsqueeze(0).expand({frames, tokens, -1})},
                   -1)
        .flatten(0, 1);
  };
  return {{of_tokens(time.sin, spatial.sin), of_tokens(time.cos, spatial.cos)}, 1, true};
}

Rotation camera_rotation(const GctConfig& config, const at::Tensor& times) {
  const auto& split = config.camera_rotary_split;
  const nn::RotaryCode time = turned_by(times, split[0]);
  const std::array<std::int64_t, 2> rest{times.size(0), split[1] + split[2]};
  return {beside(time, {at::zeros(rest, time.sin.options()), at::ones(rest, time.cos.options())}),
          1, true};
}

at::Tensor time_indices(std::int64_t first, std::int64_t count, at::Device device) {
  return at::arange(first, first + count, at::dtype(at::kDouble).device(device));
}

}  // namespace skyfix::gct
