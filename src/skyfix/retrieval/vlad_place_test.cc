#include <gmock/gmock.h>

#include <Eigen/Core>

#include "skyfix/base/error.h"
#include "skyfix/features/testing.h"
#include "skyfix/retrieval/global_descriptor.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix {
namespace {

constexpr int kClusters = 8;

VladVocabulary vocabulary_of(const std::vector<Image>& pictures) {
  std::vector<float> descriptors;
  for (const Image& picture : pictures) {
    const FeatureSet features = make_local_features("sift")->extract(picture);
    descriptors.insert(descriptors.end(), features.descriptors.begin(), features.descriptors.end());
  }
  VladTraining training;
  training.clusters = kClusters;
  return train_vlad_vocabulary(descriptors, 128, training);
}

Image cropped(const Image& image, int left, int top, int width, int height) {
  Image part{width, height, 1, {}};
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* row = image.row(top + y) + left;
    part.pixels.insert(part.pixels.end(), row, row + width);
  }
  return part;
}

class VladDescriptor : public ::testing::Test {
 protected:
  VladDescriptor() {
    for (int i = 0; i < 5; ++i) pictures_.push_back(textured_image(320, 240, 100 + i));
    vocabulary_ = vocabulary_of(pictures_);
    descriptor_ = make_vlad_descriptor(make_local_features("sift"), vocabulary_.centres,
                                       vocabulary_.clusters, vocabulary_.hash(), 320);
  }

  std::vector<Image> pictures_;
  VladVocabulary vocabulary_;
  std::unique_ptr<GlobalDescriptor> descriptor_;
};

TEST_F(VladDescriptor, SaysWhatItIs) {
  EXPECT_EQ(descriptor_->kind(), "vlad-sift");
  EXPECT_EQ(descriptor_->dimension(), kClusters * 128);
  EXPECT_EQ(descriptor_->long_side(), 320);
  EXPECT_EQ(descriptor_->vocabulary_hash(), vocabulary_.hash());
}

TEST_F(VladDescriptor, FindsThePlaceOfAPartOfAPicture) {
  std::vector<float> rows;
  for (const Image& picture : pictures_) {
    const auto row = descriptor_->compute(picture);
    EXPECT_NEAR(Eigen::Map<const Eigen::VectorXf>(row.data(), Eigen::Index(row.size())).norm(), 1,
                1e-5);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  MapPlaces places;
  places.clusters = kClusters;
  places.local_dimension = 128;
  places.descriptor = rows;
  for (std::uint32_t i = 0; i < pictures_.size(); ++i) {
    const auto query = descriptor_->compute(cropped(pictures_[i], 40, 20, 250, 200));
    const ProposalList list = search_places(places, query, 2);
    ASSERT_EQ(list.proposals.size(), 2u);
    EXPECT_EQ(list.proposals[0].image_index, i);
    EXPECT_GT(list.proposals[0].score, list.proposals[1].score + 0.1);
  }
}

TEST_F(VladDescriptor, APictureWithoutFeaturesGivesZeros) {
  const Image flat{200, 100, 1, std::vector<std::uint8_t>(20000, 77)};
  EXPECT_THAT(descriptor_->compute(flat), ::testing::Each(0.0f));
}

TEST_F(VladDescriptor, RefusesAVocabularyOfAnotherSize) {
  try {
    make_vlad_descriptor(make_local_features("sift"), vocabulary_.centres, kClusters + 1,
                         vocabulary_.hash(), 320);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_map);
  }
}

}  // namespace
}  // namespace skyfix
