#include "skyfix/models/xfeat/xfeat_net_torch.h"

#include "skyfix/models/parity_testing_torch.h"
#include "skyfix/nn/picture_torch.h"

namespace skyfix::xfeat {
namespace {

class XFeatNet : public models::ParityTest {
 protected:
  void SetUp() override {
    if (open_goldens("xfeat")) weights_ = weights_of("xfeat");
  }
  Net net(Form form) const {
    const nn::WeightReader reader(weights_, {});
    Net made(reader, form);
    reader.skip_under("fine_matcher.");
    reader.finish("XFeat");
    return made;
  }
  at::Tensor input() const {
    return network_input(
        nn::picture_tensor(models::picture_view(golden("image0")), DeviceKind::cpu));
  }
  std::shared_ptr<const TensorSource> weights_;
};

TEST_F(XFeatNet, DenseMapsEqualTheReference) {
  const DenseMaps maps = net(Form::fast)(input());
  const auto differ = [&](const at::Tensor& map, const std::string& name, double atol) {
    const double found = models::largest_difference(map.squeeze(0), golden("image0.dense." + name));
    RecordProperty(name, std::to_string(found));
    EXPECT_LE(found, atol) << name;
  };
  differ(maps.features, "feats", 5e-4);
  differ(maps.logits, "keypoint_logits", 8e-4);
  differ(maps.reliability, "reliability", 5e-5);
}

TEST_F(XFeatNet, FastFormEqualsItsTwin) {
  const DenseMaps fast = net(Form::fast)(input());
  const DenseMaps plain = net(Form::plain)(input());
  EXPECT_LE(models::largest_difference(fast.features, plain.features), 1e-4);
  EXPECT_LE(models::largest_difference(fast.logits, plain.logits), 2e-4);
  EXPECT_LE(models::largest_difference(fast.reliability, plain.reliability), 1e-5);
}

TEST(XFeatInput, IsGreyAndOfSidesThatAreMultiplesOf32) {
  const at::Tensor picture = at::rand({1, 3, 70, 97});
  const at::Tensor input = network_input(picture);
  EXPECT_TRUE(input.sizes().equals({1, 1, 64, 96}));
  const at::Tensor fits = at::rand({1, 3, 64, 32});
  EXPECT_TRUE(at::allclose(network_input(fits), fits.mean({1}, true)));
}

}  // namespace
}  // namespace skyfix::xfeat
