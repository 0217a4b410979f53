#include "skyfix/retrieval/dinov3_descriptor.h"

#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/features/testing.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWidth = 64;
constexpr int kLongSide = 256;

std::shared_ptr<const DinoV3> tiny_network(DinoV3Colours colours = DinoV3Colours::web) {
  DinoV3Config config;
  config.width = kWidth;
  config.blocks = 5;
  config.heads = 4;
  config.hidden = 256;
  return std::make_shared<DinoV3>(make_synthetic_source(), NetworkPlacement{},
                                  DinoV3Options{config, colours});
}

// Three channels that differ.
Image coloured(int width, int height, int seed) {
  const Image texture = textured_image(width, height, seed);
  Image image{width, height, 3, {}};
  for (const std::uint8_t value : texture.pixels) {
    image.pixels.insert(image.pixels.end(),
                        {value, std::uint8_t(255 - value), std::uint8_t(value / 2)});
  }
  return image;
}

void expect_refused(const std::function<void()>& work, Reason reason,
                    const ::testing::Matcher<std::string>& message) {
  try {
    work();
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), reason);
    EXPECT_THAT(std::string(error.what()), message);
  }
}

// Made once: a network, pictures, and a vocabulary of their patches.
struct SmallWorld {
  SmallWorld() : network(tiny_network()), settings(dinov3_place_settings(*network, kLongSide)) {
    std::vector<float> rows;
    for (int i = 0; i < 5; ++i) {
      pictures.push_back(coloured(320, 240, 200 + i));
      const auto some = dinov3_local_rows(*network, settings, pictures.back());
      rows.insert(rows.end(), some.begin(), some.end());
    }
    VladTraining training = dinov3_training();
    training.clusters = 8;
    vocabulary = train_vlad_vocabulary(rows, kWidth, training);
  }
  std::shared_ptr<const DinoV3> network;
  DinoV3PlaceSettings settings;
  std::vector<Image> pictures;
  VladVocabulary vocabulary;
};

const SmallWorld& small_world() {
  static const SmallWorld world;
  return world;
}

class DinoV3Descriptor : public ::testing::Test {
 protected:
  std::unique_ptr<GlobalDescriptor> descriptor() const {
    return make_dinov3_descriptor(network_, settings_, vocabulary_.centres, vocabulary_.clusters,
                                  vocabulary_.hash());
  }

  const std::vector<Image>& pictures_ = small_world().pictures;
  const VladVocabulary& vocabulary_ = small_world().vocabulary;
  std::shared_ptr<const DinoV3> network_ = small_world().network;
  DinoV3PlaceSettings settings_ = small_world().settings;
};

TEST_F(DinoV3Descriptor, SaysWhatItIs) {
  const auto made = descriptor();
  EXPECT_EQ(made->kind(), "dinov3");
  EXPECT_EQ(made->dimension(), 8 * kWidth);
  EXPECT_EQ(made->long_side(), kLongSide);
  EXPECT_EQ(made->vocabulary_hash(), vocabulary_.hash());
  EXPECT_TRUE(made->wants_colour());
  EXPECT_TRUE(made->turn_matters());
}

TEST_F(DinoV3Descriptor, UsualSettings) {
  EXPECT_EQ(settings_.layer, 3);
  EXPECT_EQ(settings_.facet, DinoV3Facet::value);
  EXPECT_EQ(settings_.weights_hash, network_->weights_hash());
  EXPECT_EQ(dinov3_place_settings(*network_).long_side_px, 512);
  EXPECT_EQ(dinov3_training().clusters, 32);
}

TEST_F(DinoV3Descriptor, IsTheVladOfThePatches) {
  const Image& picture = pictures_[0];
  const Image small = shrink_to(picture, kLongSide);
  const PatchVectors patches = network_->patches(
      {small.pixels.data(), small.width, small.height, 3}, 3, DinoV3Facet::value, kLongSide);
  EXPECT_EQ(patches.grid, (PatchGrid{12, 16}));
  EXPECT_EQ(descriptor()->compute(picture),
            vlad_of_rows(vocabulary_.centres, vocabulary_.clusters, patches.values));
}

TEST_F(DinoV3Descriptor, PhotosOfFullSizeAreShrunkFirst) {
  EXPECT_EQ(descriptor()->compute(pictures_[0]),
            descriptor()->compute(shrink_to(pictures_[0], kLongSide)));
}

TEST_F(DinoV3Descriptor, LayerAndFacetCount) {
  const auto usual = descriptor()->compute(pictures_[0]);
  settings_.layer = 2;
  EXPECT_NE(descriptor()->compute(pictures_[0]), usual);
  settings_.layer = 3;
  settings_.facet = DinoV3Facet::key;
  EXPECT_NE(descriptor()->compute(pictures_[0]), usual);
}

// The weights are random, but pictures that are alike give descriptors that are alike.
TEST_F(DinoV3Descriptor, FindsThePlaceOfAPictureChangedALittle) {
  const auto made = descriptor();
  std::vector<float> rows;
  for (const Image& picture : pictures_) {
    const auto row = made->compute(picture);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  MapPlaces places;
  places.clusters = vocabulary_.clusters;
  places.local_dimension = kWidth;
  places.descriptor = rows;
  for (std::uint32_t i = 0; i < pictures_.size(); ++i) {
    const auto query = made->compute(resize(blur(pictures_[i], 0.5), 300, 225));
    const ProposalList list = search_places(places, query, 2);
    ASSERT_EQ(list.proposals.size(), 2u);
    EXPECT_EQ(list.proposals[0].image_index, i);
    EXPECT_GT(list.proposals[0].score, list.proposals[1].score + 0.05);
  }
}

TEST_F(DinoV3Descriptor, TakesGreyPicturesToo) {
  const auto row = descriptor()->compute(to_grey(pictures_[0]));
  double sum = 0;
  for (const float value : row) sum += double(value) * value;
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(DinoV3Descriptor, DrawsRowsFromAllOverThePicture) {
  const Image& picture = pictures_[1];
  const auto all = dinov3_local_rows(*network_, settings_, picture);
  ASSERT_EQ(all.size(), 12u * 16 * kWidth);
  const auto some = dinov3_local_rows(*network_, settings_, picture, 48);
  ASSERT_EQ(some.size(), 48u * kWidth);
  EXPECT_EQ(dinov3_local_rows(*network_, settings_, picture, 48), some);
  EXPECT_NE(dinov3_local_rows(*network_, settings_, picture, 48, 2), some);
  EXPECT_EQ(dinov3_local_rows(*network_, settings_, picture, 1000), all);
  std::set<std::size_t> columns;
  for (std::size_t i = 0; i < 48; ++i) {
    bool found = false;
    for (std::size_t j = 4 * i; j < 4 * i + 4; ++j) {  // its stretch
      if (!std::equal(&some[i * kWidth], &some[i * kWidth] + kWidth, &all[j * kWidth])) continue;
      found = true;
      columns.insert(j % 16);
    }
    EXPECT_TRUE(found) << i;
  }
  EXPECT_GT(columns.size(), 8u);
}

TEST_F(DinoV3Descriptor, SettingsAsTextAndBack) {
  settings_.facet = DinoV3Facet::token;
  settings_.colours = DinoV3Colours::satellite;
  EXPECT_EQ(parse_dinov3_settings(dinov3_settings_text(settings_)), settings_);
}

TEST_F(DinoV3Descriptor, RefusesNotesItCannotRead) {
  const std::string text = dinov3_settings_text(settings_);
  for (const std::string& bad :
       {std::string(), std::string("null"), text.substr(0, text.size() - 1)}) {
    expect_refused([&] { parse_dinov3_settings(bad); }, Reason::bad_map,
                   HasSubstr("build the map"));
  }
  std::string facet = text, layer = text;
  facet.replace(facet.find("value"), 5, "vague");
  expect_refused([&] { parse_dinov3_settings(facet); }, Reason::bad_map, HasSubstr("facet"));
  layer.replace(layer.find("\"layer\""), 7, "\"lager\"");
  expect_refused([&] { parse_dinov3_settings(layer); }, Reason::bad_map, HasSubstr("layer"));
}

TEST_F(DinoV3Descriptor, RefusesAnotherNetworkThanTheMaps) {
  settings_.model = "dinov3-vitb16";
  settings_.weights_hash = "abc";
  expect_refused([&] { descriptor(); }, Reason::bad_weights,
                 AllOf(HasSubstr("the model dinov3-vitb16, not dinov3"),
                       HasSubstr("SHA-256 abc, not synthetic")));
  settings_ = dinov3_place_settings(*network_, kLongSide);
  network_ = tiny_network(DinoV3Colours::satellite);
  expect_refused([&] { descriptor(); }, Reason::bad_weights,
                 AllOf(HasSubstr("the model dinov3, not dinov3-sat"),
                       HasSubstr("colours web, not satellite")));
}

TEST_F(DinoV3Descriptor, RefusesWhatDoesNotFit) {
  expect_refused(
      [&] { make_dinov3_descriptor(network_, settings_, vocabulary_.centres, 9, "hash"); },
      Reason::bad_map, HasSubstr("64 values a patch"));
  settings_.layer = 5;
  expect_refused([&] { descriptor(); }, Reason::bad_map, HasSubstr("layer 5"));
  settings_.layer = 3;
  settings_.long_side_px = 0;
  expect_refused([&] { descriptor(); }, Reason::bad_map, HasSubstr("0 px"));
}

}  // namespace
}  // namespace skyfix
