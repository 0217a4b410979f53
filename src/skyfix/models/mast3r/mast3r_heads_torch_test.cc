#include "skyfix/models/mast3r/mast3r_heads_torch.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "skyfix/models/mast3r/testing.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::mast3r {
namespace {

constexpr TokenGrid kGrid{3, 5};
constexpr std::int64_t kBatch = 2, kPixels = kBatch * 48 * 80;

class DescriptorHeadTest : public ::testing::Test {
 protected:
  DescriptorHeadTest() {
    at::manual_seed(3);
    feature_ = at::randn({kBatch, kGrid.tokens(), 32});
    state_ = at::randn({kBatch, kGrid.tokens(), 24});
    const nn::WeightReader reader(make_synthetic_source(), {});
    head_ = DescriptorHead(reader.under("head"), tiny_config());
  }
  Descriptors all() const { return head_(feature_, state_, kGrid); }
  Descriptors at(const std::vector<std::int64_t>& pixels) const {
    return head_.at_pixels(head_.hidden(feature_, state_), kGrid, pixels);
  }
  // Against the pixels of all(), flattened.
  void expect_pixels(const Descriptors& found, const std::vector<std::int64_t>& pixels) const {
    const Descriptors whole = all();
    const at::Tensor index = at::tensor(at::ArrayRef<std::int64_t>(pixels), at::kLong);
    const at::Tensor rows = whole.rows.flatten(0, 2).index_select(0, index);
    const at::Tensor confidence = whole.confidence.flatten().index_select(0, index);
    ASSERT_TRUE(found.rows.sizes().equals(rows.sizes()));
    EXPECT_LT((found.rows - rows).abs().max().item<double>(), 1e-6);
    EXPECT_LT(((found.confidence - confidence) / confidence).abs().max().item<double>(), 1e-5);
  }

  at::Tensor feature_, state_;
  DescriptorHead head_;
};

TEST_F(DescriptorHeadTest, GivesUnitRowsAndPositiveConfidence) {
  const Descriptors found = all();
  EXPECT_TRUE(found.rows.sizes().equals({kBatch, 48, 80, 8}));
  EXPECT_TRUE(found.confidence.sizes().equals({kBatch, 48, 80}));
  EXPECT_LT((found.rows.norm(2, -1) - 1).abs().max().item<double>(), 1e-6);
  EXPECT_GT(found.confidence.min().item<double>(), 0);
  EXPECT_GT(found.rows.std(0).min().item<double>(), 0);  // pictures differ everywhere
}

TEST_F(DescriptorHeadTest, DoesNotDependOnRuns) {
  const Descriptors whole = all();
  for (const std::int64_t rows : {1, 2, 3, 100}) {
    const Descriptors found = head_(feature_, state_, kGrid, rows);
    EXPECT_LT((found.rows - whole.rows).abs().max().item<double>(), 1e-6) << rows;
    EXPECT_LT((found.confidence - whole.confidence).abs().max().item<double>(), 1e-4) << rows;
    EXPECT_TRUE(found.rows.is_contiguous());
  }
}

TEST_F(DescriptorHeadTest, DescribesSinglePixels) {
  // Corners of patches and pictures, one pixel twice, the second picture's first and last.
  const std::vector<std::int64_t> pixels = {
      0, 15, 16, 79, 80, 79, 16 * 80, 17 * 80 - 1, 48 * 80 - 1, 48 * 80, kPixels - 1};
  expect_pixels(at(pixels), pixels);
}

TEST_F(DescriptorHeadTest, DescribesOnePixelOfThePatchOften) {
  // As often as one run of gathering holds, and more.
  for (const std::int64_t count : {7, 8, 9, 30}) {
    std::vector<std::int64_t> pixels;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t token = i % 15, row = token / 5 * 16 + 3, column = token % 5 * 16 + 7;
      pixels.push_back(i / 15 * 48 * 80 + row * 80 + column);
    }
    expect_pixels(at(pixels), pixels);
  }
}

TEST_F(DescriptorHeadTest, DescribesAllPixels) {
  std::vector<std::int64_t> pixels(kPixels);
  std::iota(pixels.rbegin(), pixels.rend(), 0);
  expect_pixels(at(pixels), pixels);
}

TEST_F(DescriptorHeadTest, KnowsPlacesThatAreNone) {
  const Descriptors found = at({-1, 100, -1});
  EXPECT_TRUE(found.rows[0].isnan().all().item<bool>());
  EXPECT_TRUE(found.rows[2].isnan().all().item<bool>());
  EXPECT_EQ(found.confidence[0].item<float>(), 0);
  expect_pixels({found.rows.narrow(0, 1, 1), found.confidence.narrow(0, 1, 1)}, {100});
  const Descriptors none = at({-1, -1});
  EXPECT_TRUE(none.rows.isnan().all().item<bool>());
  EXPECT_EQ(none.confidence.sum().item<float>(), 0);
  EXPECT_TRUE(at({}).rows.sizes().equals({0, 8}));
}

TEST_F(DescriptorHeadTest, FollowsTheLayoutOfTheCheckpoint) {
  // Output channel c of pixel (i, j) of a patch is row 256 c + 16 i + j of the last layer.
  const nn::WeightReader reader(make_synthetic_source(), {});
  const at::Tensor w1 = reader.get("head.fc1.weight", {224, 56}),
                   b1 = reader.get("head.fc1.bias", {224});
  const at::Tensor w2 = reader.get("head.fc2.weight", {9 * 256, 224}),
                   b2 = reader.get("head.fc2.bias", {9 * 256});
  const std::int64_t token = 7, i = 4, j = 11;  // token (1, 2)
  const at::Tensor input = at::cat({feature_[1][token], state_[1][token]});
  const at::Tensor out = at::mv(w2, at::gelu(at::mv(w1, input) + b1)) + b2;
  const at::Tensor wanted = out.view({9, 16, 16}).select(2, j).select(1, i);
  const at::Tensor found = head_.raw(feature_, state_, kGrid)[1][16 + i][32 + j];
  EXPECT_LT((found - wanted).abs().max().item<double>(), 1e-5);
}

TEST(PointHeadTest, PutsConfidenceAboveItsFloor) {
  Mast3rConfig config = tiny_config();
  config.confidence_floor = 3;
  const nn::WeightReader reader(make_synthetic_source(), {});
  const PointHead head(reader.under("dpt"), config);
  at::manual_seed(4);
  const std::array<at::Tensor, 4> states = {at::randn({1, 15, 32}), at::randn({1, 15, 24}),
                                            at::randn({1, 15, 24}), at::randn({1, 15, 24})};
  const Points points = head(states, kGrid);
  EXPECT_TRUE(points.xyz.sizes().equals({1, 48, 80, 3}));
  EXPECT_GT(points.confidence.min().item<double>(), 3);
  // The raw distance comes back from the point's.
  const at::Tensor raw = head.raw(states, kGrid).permute({0, 2, 3, 1}).narrow(-1, 0, 3);
  EXPECT_LT((points.xyz.norm(2, -1).log1p() - raw.norm(2, -1)).abs().max().item<double>(), 1e-5);
  EXPECT_LT((points.confidence - 3 - head.raw(states, kGrid).select(1, 3).exp())
                .abs()
                .max()
                .item<double>(),
            1e-5);
}

}  // namespace
}  // namespace skyfix::mast3r
