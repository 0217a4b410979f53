#include "skyfix/models/gct/gct_aggregator_torch.h"

#include <gmock/gmock.h>

#include "skyfix/models/gct/testing_memory_torch.h"
#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::gct {
namespace {

class GctAggregatorTest : public Goldens {
 protected:
  const nn::WeightReader reader_ =
      nn::WeightReader(make_synthetic_source(), {}).under("aggregator");
  const Aggregator aggregator_ = Aggregator(reader_, gct_tiny());
};

TEST_F(GctAggregatorTest, PutsSpecialTokensBeforeThePatches) {
  if (!open("tiny_single")) return;
  const at::Tensor tokens =
      aggregator_.with_special_tokens(golden("dino.norm").slice(1, 5), {0, 1, 0});
  expect_golden(tokens, "tokens_in");
}

// Which variant of camera, register and scale token each frame of a call has.
TEST_F(GctAggregatorTest, TokensSayWhichFrameIsFirstAndWhichGiveTheScale) {
  const at::Tensor camera = reader_.get("camera_token", {1, 2, 1, 64})[0],
                   registers = reader_.get("register_token", {1, 2, 4, 64})[0],
                   scale = reader_.get("scale_token", {1, 2, 1, 64})[0];
  const auto variants = [&](std::int64_t frames, const GctCall& call) {
    const at::Tensor found = aggregator_.with_special_tokens(at::zeros({frames, 2, 64}), call);
    std::string text;
    for (std::int64_t i = 0; i < frames; ++i) {
      for (int variant = 0; variant < 2; ++variant) {
        const bool first = found[i].narrow(0, 0, 1).equal(camera[variant]);
        EXPECT_EQ(first, found[i].narrow(0, 1, 4).equal(registers[variant]));
        if (first) text += "cC"[variant];
        if (found[i].narrow(0, 5, 1).equal(scale[variant])) text += "sS"[variant];
      }
    }
    return text;
  };
  EXPECT_EQ(variants(1, {0, 1, 0}), "cs");
  EXPECT_EQ(variants(3, {0, 2, 0}), "cssCCS");
  EXPECT_EQ(variants(3, {0, 8, 0}), "cssCsC");  // fewer frames than scale frames
  EXPECT_EQ(variants(1, {3, 3, 3}), "CS");
  EXPECT_EQ(variants(1, {8, 3, 20}), "CS");
}

TEST_F(GctAggregatorTest, TapsAreFrameBesideGlobal) {
  if (!open("tiny_single")) return;
  NaiveMemory memory({}, 6);
  const auto taps = aggregator_(golden("tokens_in"), 4, 5, {0, 1, 0}, memory, {}, {});
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const std::string pair = std::to_string(gct_tiny().taps[i]);
    expect_golden(taps[i].narrow(-1, 0, 64), "frame_block." + pair);
    expect_golden(taps[i].narrow(-1, 64, 64), "global_block." + pair);
  }
}

}  // namespace
}  // namespace skyfix::gct
