#include "skyfix/models/gct/gct_camera_torch.h"

#include <gmock/gmock.h>

#include "skyfix/models/gct/testing_memory_torch.h"
#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::gct {
namespace {

class GctCameraTest : public Goldens {
 protected:
  static CameraHead head(Precision precision = Precision::fp32) {
    const nn::WeightReader reader(make_synthetic_source(), {DeviceKind::cpu, precision});
    return CameraHead(reader.under("camera_head"), gct_tiny());
  }
  at::Tensor camera_token() const {
    return at::cat({golden("frame_block.4"), golden("global_block.4")}, -1).select(1, 0);
  }
};

TEST_F(GctCameraTest, StageByStage) {
  if (!open("tiny_single")) return;
  NaiveMemory memory({}, 6);
  int steps = 0;
  const auto poses = head()(camera_token(), 4, nullptr, memory,
                            [&](const std::string& name, const at::Tensor& value) {
                              expect_golden(value, "camera." + name);
                              ++steps;
                            });
  EXPECT_EQ(steps, 1 + 4 * (2 + 2 + 1));
  ASSERT_EQ(poses.size(), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    expect_golden(activated_pose(poses[i]), "camera.pose_enc.iter" + std::to_string(i));
  }
}

TEST_F(GctCameraTest, OnlyFieldsOfViewAreRectified) {
  const at::Tensor raw = at::arange(-4, 5).to(at::kFloat).flip(0);  // 4, 3, ... -4
  const at::Tensor found = activated_pose(raw);
  EXPECT_TRUE(found.narrow(0, 0, 7).equal(raw.narrow(0, 0, 7)));
  EXPECT_EQ(found.narrow(0, 7, 2).abs().max().item<float>(), 0);
}

TEST_F(GctCameraTest, RunsInHalfPrecision) {
  if (!open("tiny_single")) return;
  NaiveMemory memory({}, 6);
  const auto poses = head(Precision::bf16)(camera_token(), 4, nullptr, memory);
  EXPECT_EQ(poses.back().scalar_type(), at::kFloat);
  const at::Tensor off =
      (activated_pose(poses.back()) - golden("camera.pose_enc.iter3").view({1, 9})).abs();
  EXPECT_LT(off.max().item<double>(), 0.03);
  EXPECT_GT(off.max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace skyfix::gct
