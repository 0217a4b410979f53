// The official configuration, all of it: parity, counts, and what half precision costs.
#include <gmock/gmock.h>

#include "skyfix/memory/footprint_gct.h"
#include "skyfix/models/gct/testing_memory_torch.h"
#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::gct {
namespace {

// The manifest's suggestion for bfloat16: |a - b| <= atol + rtol |b|.
struct Tolerance {
  double atol = 0, rtol = 0;
};

double used_share(const at::Tensor& found, const at::Tensor& wanted, const Tolerance& tolerance) {
  const at::Tensor off = (found.reshape(wanted.sizes()).to(at::kFloat) - wanted).abs();
  return (off / (wanted.abs() * tolerance.rtol + tolerance.atol)).max().item<double>();
}

class FullSizeGct : public Goldens {
 protected:
  at::Tensor frames() const { return golden("images_u8").to(at::kFloat) / 255; }
  static NaivePolicy policy(int interval) {
    return {.scale_frames = 3, .reserved = 3, .window = 2, .interval = interval};
  }
};

TEST_F(FullSizeGct, EqualsTheReferenceAndHasItsParameters) {
  if (!open("full_stream", kFullTolerance)) return;
  GctOptions options;
  options.point_head = true;
  const GctNetwork network(make_synthetic_source(), gct_official(), options);
  const GctParameters parameters = gct_parameters();
  // All that the file has, but for a mask token that nothing reads.
  EXPECT_EQ(network.weights().values + 1024, parameters.total() + parameters.point_head);
  EXPECT_EQ(network.weights().values + 1024, 1'190'598'168);
  EXPECT_EQ(network.weights().tensors + 1, 1404);
  for (const int interval : {1, 2}) {
    const GctOutput found = NaiveStream(network, policy(interval)).run(frames()).output;
    const std::string prefix = "kf" + std::to_string(interval) + ".";
    expect_golden(found.pose, prefix + "pose_enc");
    expect_golden(found.depth, prefix + "depth");
    expect_golden(found.depth_confidence, prefix + "depth_conf");
    if (!has(prefix + "world_points")) continue;
    expect_golden(found.points, prefix + "world_points");
    expect_golden(found.points_confidence, prefix + "world_points_conf");
  }
}

// On the tiny network: its noise is the full one's.
class HalfGct : public Goldens {};

TEST_F(HalfGct, StaysWithinWhatTheReferencesOwnHalfPrecisionDiffersBy) {
  if (!open("tiny_stream")) return;
  GctOptions options;
  options.placement.precision = Precision::bf16;
  const GctNetwork network(make_synthetic_source(), gct_tiny(), options);
  const NaivePolicy policy{.scale_frames = 2, .reserved = 2, .window = 3};
  const GctOutput found = NaiveStream(network, policy).run(tiny_images(10)).output;
  EXPECT_LE(used_share(found.pose, golden("out.pose_enc"), {0.03, 0}), 1);
  EXPECT_LE(used_share(found.depth, golden("out.depth"), {0, 0.05}), 1);
  EXPECT_LE(used_share(found.depth_confidence, golden("out.depth_conf"), {0, 0.04}), 1);
  EXPECT_GT(used_share(found.depth, golden("out.depth"), {1e-5, 1e-5}), 1) << "it is half";
}

}  // namespace
}  // namespace skyfix::gct
