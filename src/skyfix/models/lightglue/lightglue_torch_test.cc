#include <algorithm>
#include <cmath>
#include <map>

#include "skyfix/base/error.h"
#include "skyfix/models/lightglue/lightglue.h"
#include "skyfix/models/parity_testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

struct Keypoints {
  std::vector<float> xy;  // COLMAP pixels
  std::vector<float> descriptors;

  LightGlueSide side(int width = 480, int height = 320) const {
    return {xy, descriptors, width, height};
  }
};

class LightGlueParity : public models::ParityTest {
 protected:
  // Of the reference, whose pixels have integer centres.
  Keypoints keypoints(const std::string& name) const {
    Keypoints found{golden_floats(name + ".keypoints"), golden_floats(name + ".descriptors")};
    for (float& value : found.xy) value += 0.5F;
    return found;
  }

  void expect_matches(const std::vector<LightGlueMatch>& found, const std::string& name,
                      double atol) const {
    const at::Tensor wanted = golden(name + ".matches");
    ASSERT_EQ(found.size(), wanted.size(0)) << name;
    if (found.empty()) return;
    const std::vector<float> scores = golden_floats(name + ".scores");
    double largest = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, wanted[i][0].item<std::int64_t>()) << name << " " << i;
      EXPECT_EQ(found[i].second, wanted[i][1].item<std::int64_t>()) << name << " " << i;
      largest = std::max(largest, double(std::abs(found[i].score - scores[i])));
    }
    RecordProperty(name, std::to_string(largest * 1e6) + "e-6");
    EXPECT_LE(largest, atol) << name;
  }
};

class LightGlueForAliked : public LightGlueParity {
 protected:
  void SetUp() override {
    if (open_goldens("aliked_lightglue")) weights_ = weights_of("lightglue-aliked");
  }
  std::shared_ptr<const TensorSource> weights_;
};

TEST_F(LightGlueForAliked, MatchesEqualTheReference) {
  const Keypoints first = keypoints("image0.thr512"), second = keypoints("image1.thr512");
  LightGlueConfig config = LightGlueConfig::for_aliked();
  config.depth_confidence = config.width_confidence = -1;
  expect_matches(LightGlue(weights_, config, {}).match(first.side(), second.side()),
                 "lightglue_full", 2e-4);
}

TEST_F(LightGlueForAliked, AdaptiveMatchesEqualTheReference) {
  const Keypoints first = keypoints("image0.thr512"), second = keypoints("image1.thr512");
  LightGlueConfig config = LightGlueConfig::for_aliked();
  config.prune_above = -1;
  const LightGlue matcher(weights_, config, {});
  expect_matches(matcher.match(first.side(), second.side()), "lightglue_adaptive", 2e-4);
  const Keypoints few{{first.xy.begin(), first.xy.begin() + 10},
                      {first.descriptors.begin(), first.descriptors.begin() + 640}};
  expect_matches(matcher.match(few.side(), second.side()), "lightglue_few5", 2e-4);
}

TEST_F(LightGlueForAliked, AcceptsTheLayerNamesOfOlderFiles) {
  std::map<std::string, std::string> older;
  for (const std::string& name : weights_->names()) {
    std::string other = name;
    if (name.starts_with("transformers.")) {
      const std::size_t dot = name.find('.', 13), next = name.find('.', dot + 1);
      other = name.substr(dot + 1, next - dot) + name.substr(13, dot - 13) + name.substr(next);
    }
    older[other] = name;
  }
  ASSERT_TRUE(older.contains("self_attn.8.Wqkv.weight"));
  const Keypoints first = keypoints("image0.thr512"), second = keypoints("image1.thr512");
  LightGlueConfig config = LightGlueConfig::for_aliked();
  config.prune_above = -1;
  const LightGlue matcher(rename_tensors(weights_, older), config, {});
  expect_matches(matcher.match(first.side(), second.side()), "lightglue_adaptive", 2e-4);
}

TEST_F(LightGlueForAliked, RefusesWeightsOfTheOtherSize) {
  try {
    const LightGlue matcher(weights_, LightGlueConfig::for_xfeat(), {});
    ADD_FAILURE() << "took weights of another width";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_NE(error.message().find("input_proj.weight is [256, 128]"), std::string::npos);
  }
}

class LightGlueForXFeat : public LightGlueParity {
 protected:
  void SetUp() override {
    if (open_goldens("xfeat")) weights_ = weights_of("lighterglue");
  }
  std::shared_ptr<const TensorSource> weights_;
};

TEST_F(LightGlueForXFeat, MatchesEqualTheReference) {
  const Keypoints first = keypoints("image0.sparse1024"), second = keypoints("image1.sparse1024");
  LightGlueConfig config = LightGlueConfig::for_xfeat();
  expect_matches(LightGlue(weights_, config, {}).match(first.side(), second.side()), "lighterglue",
                 2e-3);
  config.width_confidence = -1;
  expect_matches(LightGlue(weights_, config, {}).match(first.side(), second.side()),
                 "lighterglue_no_pruning", 2e-3);
}

TEST_F(LightGlueForXFeat, NoPointIsUsedTwice) {
  const Keypoints first = keypoints("image0.sparse1024");
  const LightGlue matcher(weights_, LightGlueConfig::for_xfeat(), {});
  const auto matches = matcher.match(first.side(), first.side());
  ASSERT_GT(matches.size(), 900);  // of a picture with itself
  std::vector<bool> used(1024);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    EXPECT_TRUE(i == 0 || matches[i - 1].first < matches[i].first);
    EXPECT_FALSE(used[matches[i].second]);
    used[matches[i].second] = true;
  }
}

TEST_F(LightGlueForXFeat, APreparedSideServesSeveralOthers) {
  const Keypoints first = keypoints("image0.sparse1024"), second = keypoints("image1.sparse1024");
  const LightGlue matcher(weights_, LightGlueConfig::for_xfeat(), {});
  const auto prepared = matcher.prepare(first.side());
  const auto rows = [](const std::vector<LightGlueMatch>& matches) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const LightGlueMatch& match : matches) pairs.emplace_back(match.first, match.second);
    return pairs;
  };
  for (const Keypoints* other : {&second, &first, &second}) {
    const auto expected = rows(matcher.match(first.side(), other->side()));
    EXPECT_GT(expected.size(), 50);
    EXPECT_EQ(rows(matcher.match(*prepared, *matcher.prepare(other->side()))), expected);
  }
}

TEST(LightGlue, EmptySidesGiveNoMatches) {
  const LightGlue matcher(make_synthetic_source(), LightGlueConfig::for_xfeat(), {});
  const Keypoints none, one{{3, 4}, std::vector<float>(64, 0.125F)};
  EXPECT_TRUE(matcher.match(none.side(), one.side()).empty());
  EXPECT_TRUE(matcher.match(one.side(), none.side()).empty());
  EXPECT_TRUE(matcher.match(*matcher.prepare(none.side()), *matcher.prepare(one.side())).empty());
  EXPECT_LE(matcher.match(one.side(), one.side()).size(), 1);
}

TEST(LightGlue, ReducedPrecisionRuns) {
  const NetworkPlacement placement{DeviceKind::cpu, Precision::bf16};
  const LightGlue matcher(make_synthetic_source(), LightGlueConfig::for_xfeat(), placement);
  const Keypoints two{{3, 4, 200, 100}, std::vector<float>(128, 0.125F)};
  for (const LightGlueMatch& match : matcher.match(two.side(), two.side())) {
    EXPECT_TRUE(std::isfinite(match.score));
  }
}

}  // namespace
}  // namespace skyfix
