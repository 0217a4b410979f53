#include "skyfix/models/mast3r/mast3r_network_torch.h"

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/models/mast3r/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::mast3r {
namespace {

using ::testing::HasSubstr;

class Mast3rNetwork : public TensorGoldens {
 protected:
  static Network tiny(const std::shared_ptr<const TensorSource>& weights, bool points = true) {
    return Network(weights, tiny_config(), {}, Precision::fp32, points);
  }

  // The outputs of both views.
  void expect_outputs(const Network& network, const std::array<ViewStates, 2>& views,
                      const TensorSource& goldens, const std::string& file,
                      const std::string& name) {
    for (int view = 0; view < 2; ++view) {
      const std::string n = std::to_string(view + 1);
      const ViewStates& states = views[view];
      const Points points =
          (*network.points(view))(states.at(network.config().hooks()), states.grid);
      const Descriptors described =
          network.descriptors(view)(states.entries.front(), states.entries.back(), states.grid);
      expect_golden(points.xyz, goldens, file, name + "pts3d" + n);
      expect_golden(points.confidence, goldens, file, name + "conf" + n);
      expect_golden(described.rows, goldens, file, name + "desc" + n);
      expect_golden(described.confidence, goldens, file, name + "desc_conf" + n);
    }
  }

  // Stored with every fourth descriptor only, from pixel (2, 2) on.
  void expect_portrait(const Network& network, const TensorSource& goldens) {
    const auto views =
        network.decode(network.encode(tensor(goldens, "portrait.img1")),
                       network.encode(tensor(goldens, "portrait.img2")), KeptStates::hooks);
    for (int view = 0; view < 2; ++view) {
      const std::string n = std::to_string(view + 1);
      const ViewStates& states = views[view];
      const Points points =
          (*network.points(view))(states.at(network.config().hooks()), states.grid);
      const Descriptors described =
          network.descriptors(view)(states.entries.front(), states.entries.back(), states.grid);
      const at::Tensor some =
          described.rows.slice(1, 2, std::nullopt, 4).slice(2, 2, std::nullopt, 4);
      expect_golden(points.xyz, goldens, "full_synthetic", "portrait.pts3d" + n);
      expect_golden(points.confidence, goldens, "full_synthetic", "portrait.conf" + n);
      expect_golden(some, goldens, "full_synthetic", "portrait.desc" + n + "_stride4");
      expect_golden(described.confidence, goldens, "full_synthetic", "portrait.desc_conf" + n);
    }
  }

  std::array<ViewStates, 2> expect_encoded(const Network& network, const TensorSource& goldens,
                                           const std::string& file, const std::string& name) {
    const Encoded first = network.encode(tensor(goldens, name + "img1"));
    const Encoded second = network.encode(tensor(goldens, name + "img2"));
    expect_golden(first.feature, goldens, file, name + "feat1");
    expect_golden(second.feature, goldens, file, name + "feat2");
    return network.decode(first, second, KeptStates::all);
  }

  void expect_stages(const Network& network, const std::array<ViewStates, 2>& views,
                     const TensorSource& goldens, const std::string& name) {
    for (int view = 0; view < 2; ++view) {
      const std::string n = std::to_string(view + 1);
      const ViewStates& states = views[view];
      for (std::size_t i = 0; i < states.entries.size(); ++i) {
        expect_golden(states.entries[i], goldens, "tiny_cases",
                      name + "dec" + n + "." + std::to_string(i));
      }
      expect_golden(network.points(view)->raw(states.at({0, 2, 3, 4}), states.grid), goldens,
                    "tiny_cases", name + "dpt_raw" + n);
      const at::Tensor local =
          network.descriptors(view).raw(states.entries.front(), states.entries.back(), states.grid);
      expect_golden(local.permute({0, 3, 1, 2}), goldens, "tiny_cases", name + "local_raw" + n);
    }
  }
};

TEST_F(Mast3rNetwork, TakesPicturesAsTheGoldensDo) {
  const auto goldens = open("preprocess.safetensors");
  for (const std::string name : {"down_landscape", "up_bicubic", "odd_width"}) {
    const BytePicture cut = picture(*goldens, name + ".cropped");
    const at::Tensor input = picture_input(cut.view(), DeviceKind::cpu);
    const at::Tensor golden = tensor(*goldens, name + ".input");
    ASSERT_TRUE(input.sizes().equals(golden.sizes()));
    EXPECT_LE((input - golden).abs().max().item<double>(), 1e-6) << name;
  }
}

TEST_F(Mast3rNetwork, EqualsTheGoldensStageByStage) {
  const c10::InferenceMode inference;
  const auto goldens = open("tiny_cases.safetensors");
  const Network network = tiny(open("tiny_weights.safetensors"));
  for (const std::string name : {"landscape.", "portrait."}) {
    const auto views = expect_encoded(network, *goldens, "tiny_cases", name);
    expect_stages(network, views, *goldens, name);
    expect_outputs(network, views, *goldens, "tiny_cases", name);
  }
}

TEST_F(Mast3rNetwork, TakesPairsOfDifferentSizes) {
  const c10::InferenceMode inference;
  const auto goldens = open("tiny_cases.safetensors");
  const Network network = tiny(open("tiny_weights.safetensors"));
  for (const std::string name : {"mixed.", "unequal."}) {
    const auto views = expect_encoded(network, *goldens, "tiny_cases", name);
    expect_outputs(network, views, *goldens, "tiny_cases", name);
  }
}

TEST_F(Mast3rNetwork, TellsTheViewsApart) {
  const c10::InferenceMode inference;
  const auto cases = open("tiny_cases.safetensors");
  const auto swapped = open("tiny_swapped.safetensors");
  const Network network = tiny(open("tiny_weights.safetensors"));
  const Encoded first = network.encode(tensor(*cases, "landscape.img2"));
  const Encoded second = network.encode(tensor(*cases, "landscape.img1"));
  const auto views = network.decode(first, second, KeptStates::hooks);
  expect_outputs(network, views, *swapped, "tiny_swapped", "landscape_swapped.");
}

TEST_F(Mast3rNetwork, ReadsATrainingCheckpoint) {
  const c10::InferenceMode inference;
  const auto goldens = open("fake_checkpoint_case.safetensors");
  const auto weights = open("fake_checkpoint.pth");
  const Network network(weights, mast3r_config(*weights), {}, Precision::fp32, true);
  EXPECT_EQ(network.config().descriptor_size, 2);
  const auto views = network.decode(network.encode(tensor(*goldens, "img1")),
                                    network.encode(tensor(*goldens, "img2")), KeptStates::hooks);
  expect_outputs(network, views, *goldens, "fake_checkpoint_case", "");
}

// Another source without, or with other, tensors.
class Changed : public TensorSource {
 public:
  explicit Changed(std::shared_ptr<const TensorSource> source) : source_(std::move(source)) {
    for (const std::string& name : source_->names()) tensors_[name] = *source_->find(name);
  }
  void erase_under(const std::string& prefix) {
    std::erase_if(tensors_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
  }
  void copy(const std::string& name, const std::string& other) {
    tensors_[other] = tensors_.at(name);
  }
  std::string description() const override { return "changed"; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  const std::map<std::string, std::string>& metadata() const override {
    return source_->metadata();
  }
  std::string hash() const override { return ""; }

 private:
  std::shared_ptr<const TensorSource> source_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

TEST_F(Mast3rNetwork, SharesTheDecoderOfAFileWithOne) {
  const c10::InferenceMode inference;
  const auto goldens = open("tiny_cases.safetensors");
  const auto one = std::make_shared<Changed>(open("tiny_weights.safetensors"));
  one->erase_under("dec_blocks2.");
  const auto both = std::make_shared<Changed>(one);
  for (const std::string& name : one->names()) {
    if (name.starts_with("dec_blocks.")) both->copy(name, "dec_blocks2." + name.substr(11));
  }
  const auto state = [&](const std::shared_ptr<const TensorSource>& weights) {
    const Network network = tiny(weights);
    return network
        .decode(network.encode(tensor(*goldens, "landscape.img1")),
                network.encode(tensor(*goldens, "landscape.img2")), KeptStates::ends)[1]
        .entries.back();
  };
  EXPECT_TRUE(state(one).equal(state(both)));
  EXPECT_FALSE(state(one).equal(state(open("tiny_weights.safetensors"))));
}

TEST_F(Mast3rNetwork, DoesWithoutWhatIsNotUsed) {
  const auto weights = std::make_shared<Changed>(open("tiny_weights.safetensors"));
  weights->erase_under("mask_token");
  for (const std::string head : {"downstream_head1", "downstream_head2"}) {
    weights->erase_under(head + ".dpt.scratch.refinenet4.resConfUnit1.");
    weights->erase_under(head + ".dpt.scratch.layer_rn.");
  }
  EXPECT_NO_THROW(tiny(weights));
  for (const std::string head : {"downstream_head1", "downstream_head2"}) {
    weights->erase_under(head + ".dpt.scratch.");
  }
  EXPECT_NO_THROW(tiny(weights, /*points=*/false));
  EXPECT_EQ(tiny(weights, false).points(0), nullptr);
  EXPECT_THROW(tiny(weights), Error);
}

TEST_F(Mast3rNetwork, NamesWhatDoesNotFit) {
  const auto weights = std::make_shared<Changed>(open("tiny_weights.safetensors"));
  weights->erase_under("dec_blocks2.3.cross_attn.projk.bias");
  weights->copy("enc_norm.weight", "enc_blocks.2.norm1.weight");
  weights->copy("enc_norm.weight", "dec_norm.bias");
  try {
    tiny(weights);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_THAT(error.what(), HasSubstr("missing: dec_blocks2.3.cross_attn.projk.bias"));
    EXPECT_THAT(error.what(), HasSubstr("dec_norm.bias is [32], not [24]"));
    EXPECT_THAT(error.what(), HasSubstr("enc_blocks.2.norm1.weight"));
  }
}

// In half precision the network is near itself in full precision, not equal.
TEST_F(Mast3rNetwork, RunsInHalfPrecision) {
  const c10::InferenceMode inference;
  const auto goldens = open("tiny_cases.safetensors");
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const Network network(open("tiny_weights.safetensors"), tiny_config(),
                          {DeviceKind::cpu, precision}, precision, true);
    const auto views =
        network.decode(network.encode(tensor(*goldens, "landscape.img1")),
                       network.encode(tensor(*goldens, "landscape.img2")), KeptStates::hooks);
    EXPECT_EQ(views[0].entries.back().scalar_type(), network.type());
    const Descriptors found =
        network.descriptors(0)(views[0].entries.front(), views[0].entries.back(), views[0].grid);
    EXPECT_EQ(found.rows.scalar_type(), at::kFloat);
    const at::Tensor cosine = (found.rows * tensor(*goldens, "landscape.desc1")).sum(-1);
    EXPECT_GT(cosine.min().item<double>(), 0.9);
    EXPECT_GT(cosine.mean().item<double>(), 0.9995);
    EXPECT_LT(cosine.min().item<double>(), 0.999999);
    const Points points = (*network.points(0))(views[0].at({0, 2, 3, 4}), views[0].grid);
    EXPECT_TRUE(points.xyz.isfinite().all().item<bool>());
  }
}

// The whole network with made weights: 2.8 GB.
TEST_F(Mast3rNetwork, FullSizeEqualsTheGoldens) {
  const c10::InferenceMode inference;
  const auto goldens = open("full_synthetic.safetensors");
  const Network network(make_synthetic_source(), Mast3rConfig{}, {}, Precision::fp32, true);
  const auto views = expect_encoded(network, *goldens, "full_synthetic", "landscape.");
  for (int view = 0; view < 2; ++view) {
    const std::string n = std::to_string(view + 1);
    for (const int entry : {6, 9, 12}) {
      expect_golden(views[view].entries[entry], *goldens, "full_synthetic",
                    "landscape.dec" + n + "." + std::to_string(entry));
    }
    expect_golden(network.points(view)->raw(views[view].at({0, 6, 9, 12}), views[view].grid),
                  *goldens, "full_synthetic", "landscape.dpt_raw" + n);
  }
  expect_outputs(network, views, *goldens, "full_synthetic", "landscape.");
  expect_portrait(network, *goldens);
}

}  // namespace
}  // namespace skyfix::mast3r
