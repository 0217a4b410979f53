#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>

#include "skyfix/base/error.h"
#include "skyfix/models/mast3r/mast3r.h"
#include "skyfix/models/mast3r/mast3r_network_torch.h"
#include "skyfix/models/mast3r/testing.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::Truly;
using ::testing::UnorderedElementsAre;

constexpr int kLongSide = 96;

BytePicture photo(int width, int height, int seed) {
  std::mt19937 generator(seed);
  BytePicture coarse{{}, 9, 7, 3};
  for (int i = 0; i < 9 * 7 * 3; ++i) coarse.pixels.push_back(std::uint8_t(generator()));
  return resample(coarse.view(), width, height, ResampleFilter::bicubic);
}

class Mast3rTest : public ::testing::Test {
 protected:
  using Feature = std::shared_ptr<const Mast3rFeature>;

  Mast3rTest() : network_(make_synthetic_source(), mast3r::tiny_config(), {.points = true}) {}

  Feature encoded(int width, int height, int seed) const {
    return network_.encode(photo(width, height, seed).view(), kLongSide);
  }
  // The pairs by the reference's index.
  std::map<std::size_t, Mast3rPair> pairs(const Feature& query,
                                          const std::vector<Mast3rReference>& references,
                                          const Mast3rPairOptions& options = {}) const {
    std::map<std::size_t, Mast3rPair> found;
    network_.pairs(*query, references, options, [&](std::size_t i, const Mast3rPair& pair) {
      EXPECT_TRUE(found.emplace(i, pair).second) << i << " twice";
    });
    return found;
  }
  // The places of all pixels.
  static std::vector<float> all_places(const Mast3rGrid& grid) {
    std::vector<float> xy;
    for (std::int64_t i = 0; i < grid.pixels(); ++i) {
      xy.push_back(float(grid.centre_of(i).x));
      xy.push_back(float(grid.centre_of(i).y));
    }
    return xy;
  }

  Mast3r network_;
};

void expect_near(const Mast3rRows& found, const Mast3rRows& wanted, float tolerance) {
  ASSERT_EQ(found.rows, wanted.rows);
  ASSERT_EQ(found.columns, wanted.columns);
  const std::vector<float> a = found.to_host(), b = wanted.to_host();
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  EXPECT_LE(largest, tolerance);
}

TEST_F(Mast3rTest, EncodesAPhotoOfAnySize) {
  const Feature feature = encoded(211, 157, 1);
  EXPECT_EQ(feature->grid(), mast3r_grid(211, 157, kLongSide));
  EXPECT_EQ(feature->bytes(), 6 * 4 * 32 * sizeof(float));
  const Feature portrait = encoded(50, 70, 1);
  EXPECT_EQ(portrait->grid().height, 96);
  EXPECT_EQ(portrait->grid().width, 64);
}

TEST_F(Mast3rTest, RefusesASliver) {
  const BytePicture sliver = photo(400, 1, 1);
  try {
    network_.encode(sliver.view(), kLongSide);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::image_too_small);
  }
}

TEST_F(Mast3rTest, DescribesAPairAsTheNetworkDoes) {
  const BytePicture first = photo(211, 157, 1), second = photo(50, 70, 2);
  const Feature query = network_.encode(first.view(), kLongSide);
  const Feature reference = network_.encode(second.view(), kLongSide);
  const std::vector<float> places = all_places(reference->grid());
  const Mast3rPair pair = pairs(query, {{reference, places}}).at(0);

  const mast3r::Network twin(make_synthetic_source(), mast3r::tiny_config(), {}, Precision::fp32,
                             false);
  const auto encode = [&](const BytePicture& picture, const Mast3rGrid& grid) {
    return twin.encode(
        mast3r::picture_input(mast3r_picture(picture.view(), grid).view(), DeviceKind::cpu));
  };
  const auto views = twin.decode(encode(first, query->grid()), encode(second, reference->grid()),
                                 mast3r::KeptStates::ends);
  const Mast3rRows* found[] = {&pair.query, &pair.reference};
  for (int view = 0; view < 2; ++view) {
    const at::Tensor rows = twin.descriptors(view)(views[view].entries.front(),
                                                   views[view].entries.back(), views[view].grid)
                                .rows;
    expect_near(*found[view], {rows.const_data_ptr<float>(), rows.numel() / 8, 8}, 2e-6);
  }
  EXPECT_EQ(pair.query_confidence.rows, query->grid().pixels());
  EXPECT_THAT(pair.reference_confidence.to_host(), Each(::testing::Gt(0)));
  EXPECT_EQ(pair.query_points.xyz.data, nullptr);
}

TEST_F(Mast3rTest, TakesReferencesOfAllSizesInAnyBatches) {
  const Feature query = encoded(211, 157, 1);
  const std::vector<float> xy = {20, 30, 45.5, 41, 33, 33};
  std::vector<Mast3rReference> references;
  int seed = 10;
  for (const auto& [width, height] :
       {std::pair(211, 157), {50, 70}, {211, 157}, {70, 70}, {211, 157}}) {
    references.push_back({encoded(width, height, seed++), xy});
  }
  references[2].xy = std::span(xy).first(2);
  references[3].xy = {};
  const auto alone = pairs(query, references, {.batch = 1});
  ASSERT_THAT(alone, SizeIs(5));
  for (const int batch : {2, 8}) {
    const auto found = pairs(query, references, {.batch = batch, .token_rows = 1});
    ASSERT_THAT(found, SizeIs(5));
    for (const auto& [i, pair] : found) {
      EXPECT_EQ(pair.reference.rows, references[i].xy.size() / 2);
      expect_near(pair.query, alone.at(i).query, 2e-6);
      expect_near(pair.query_confidence, alone.at(i).query_confidence, 1e-4);
      expect_near(pair.reference, alone.at(i).reference, 2e-6);
    }
  }
  // What a picture is described by depends on its partner.
  EXPECT_NE(alone.at(0).query.to_host(), alone.at(2).query.to_host());
}

TEST_F(Mast3rTest, EncodesManyAsEach) {
  std::vector<BytePicture> photos;
  std::vector<PictureView> views;
  for (const auto& [width, height] : {std::pair(211, 157), {50, 70}, {211, 157}, {211, 157}}) {
    photos.push_back(photo(width, height, 20 + int(photos.size())));
  }
  for (const BytePicture& picture : photos) views.push_back(picture.view());
  const auto features = network_.encode(views, kLongSide, 2);
  ASSERT_THAT(features, SizeIs(4));
  const Feature query = encoded(80, 60, 3);
  for (std::size_t i = 0; i < 4; ++i) {
    const Feature alone = network_.encode(views[i], kLongSide);
    EXPECT_EQ(features[i]->grid(), alone->grid());
    EXPECT_EQ(features[i]->bytes(), alone->bytes());
    expect_near(pairs(query, {{features[i], {}}}).at(0).query,
                pairs(query, {{alone, {}}}).at(0).query, 2e-6);
  }
}

TEST_F(Mast3rTest, GivesPlacesOutsideNoDescriptor) {
  const Feature query = encoded(211, 157, 1), reference = encoded(211, 157, 2);
  const std::vector<float> xy = {100, 1, 100, 80};  // the first is cut off
  const Mast3rPair pair = pairs(query, {{reference, xy}}).at(0);
  const std::vector<float> rows = pair.reference.to_host();
  const auto is_nan = [](float value) { return std::isnan(value); };
  EXPECT_THAT(std::vector<float>(rows.begin(), rows.begin() + 8), Each(Truly(is_nan)));
  EXPECT_THAT(std::vector<float>(rows.begin() + 8, rows.end()), Each(Not(Truly(is_nan))));
  EXPECT_EQ(pair.reference_confidence.to_host()[0], 0);
}

TEST_F(Mast3rTest, ExchangesTheViews) {
  const Feature a = encoded(211, 157, 1), b = encoded(50, 70, 2);
  const std::vector<float> places_a = all_places(a->grid()), places_b = all_places(b->grid());
  const Mast3rPair straight = pairs(a, {{b, places_b}}).at(0);
  const Mast3rPair exchanged = pairs(b, {{a, places_a}}, {.query_second = true}).at(0);
  expect_near(exchanged.query, straight.reference, 2e-6);
  expect_near(exchanged.reference, straight.query, 2e-6);
  const Mast3rPair other = pairs(b, {{a, places_a}}).at(0);
  EXPECT_NE(other.query.to_host(), exchanged.query.to_host());
}

TEST_F(Mast3rTest, GivesPointsOnRequest) {
  const Feature query = encoded(211, 157, 1);
  const std::vector<Mast3rReference> references = {{encoded(50, 70, 2), {}},
                                                   {encoded(50, 70, 3), {}}};
  const auto found = pairs(query, references, {.points = true});
  for (const auto& [i, pair] : found) {
    EXPECT_EQ(pair.query_points.xyz.rows, query->grid().pixels());
    EXPECT_EQ(pair.reference_points.xyz.rows, references[i].feature->grid().pixels());
    EXPECT_THAT(pair.reference_points.confidence.to_host(), Each(::testing::Gt(1)));
  }
  EXPECT_NE(found.at(0).reference_points.xyz.to_host(), found.at(1).reference_points.xyz.to_host());
  EXPECT_NE(found.at(0).query_points.xyz.to_host(), found.at(1).query_points.xyz.to_host());
}

TEST_F(Mast3rTest, HasNothingToSayOfNoReferences) {
  EXPECT_THAT(pairs(encoded(211, 157, 1), {}), IsEmpty());
}

TEST_F(Mast3rTest, LetsTheSinkThrow) {
  const Feature query = encoded(211, 157, 1);
  EXPECT_THROW(network_.pairs(*query, std::vector<Mast3rReference>{{query, {}}}, {},
                              [](std::size_t, const Mast3rPair&) { throw std::out_of_range("x"); }),
               std::out_of_range);
}

TEST_F(Mast3rTest, RowsOutliveTheCall) {
  const Feature query = encoded(211, 157, 1);
  Mast3rPair kept;
  network_.pairs(*query, std::vector<Mast3rReference>{{query, {}}, {encoded(211, 157, 2), {}}}, {},
                 [&](std::size_t i, const Mast3rPair& pair) {
                   if (i == 0) kept = pair;
                 });
  expect_near(kept.query, pairs(query, {{query, {}}}).at(0).query, 2e-6);
}

TEST_F(Mast3rTest, SaysWhoseWeightsTheyAre) {
  EXPECT_EQ(network_.weights_hash(), "synthetic");
  EXPECT_EQ(network_.config(), mast3r::tiny_config());
}

}  // namespace
}  // namespace skyfix
