#include "skyfix/retrieval/vlad.h"

#include <gmock/gmock.h>

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/parallel.h"
#include "skyfix/base/testing_safetensors.h"
#include "skyfix/retrieval/cosine_assignment.h"

namespace skyfix {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

FeatureSet feature_set(std::vector<float> rows, int dimension) {
  FeatureSet features;
  features.dimension = dimension;
  features.keypoints.resize(rows.size() / dimension);
  features.descriptors = std::move(rows);
  return features;
}

double norm(std::span<const float> values) {
  return Eigen::Map<const Eigen::VectorXf>(values.data(), Eigen::Index(values.size()))
      .cast<double>()
      .norm();
}

// Unit rows in `groups` tight bundles.
std::vector<float> bundled_rows(int count, int dimension, int groups, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return float(double(random() >> 11) * 0x1p-53 - 0.5); };
  std::vector<Eigen::VectorXf> middle;
  for (int g = 0; g < groups; ++g) {
    middle.push_back(Eigen::VectorXf::NullaryExpr(dimension, uniform).normalized());
  }
  std::vector<float> rows;
  for (int i = 0; i < count; ++i) {
    const Eigen::VectorXf row =
        (middle[i % groups] + 0.1f * Eigen::VectorXf::NullaryExpr(dimension, uniform)).normalized();
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

class VladGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(VladGolden, HardAssignment) {
  const ReferenceTensors golden(std::filesystem::path(SKYFIX_SOURCE_DIR) /
                                "tests/data/vlad/vlad.safetensors");
  const std::string name = GetParam();
  const auto centres = golden.values<float>(name + ".centres");
  const auto descriptors = golden.values<float>(name + ".descriptors");
  const int clusters = int(golden.shape(name + ".centres")[0]);
  const int dimension = int(golden.shape(name + ".centres")[1]);

  const CosineAssignment assignment(centres, clusters, dimension);
  const auto labels = golden.values<std::int64_t>(name + ".labels");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(assignment.nearest(descriptors.data() + i * dimension), labels[i]) << i;
  }

  const auto expected = golden.values<float>(name + ".hard");
  const auto got = vlad_descriptor(centres, clusters, feature_set(descriptors, dimension));
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-6) << i;
}

INSTANTIATE_TEST_SUITE_P(Cases, VladGolden, ::testing::Values("value_k8", "token_k32"));

TEST(Vlad, NormalisesEachClusterThenTheWhole) {
  const std::vector<float> centres{1, 0, 0, 1};
  // Two features lean to the first centre, one to the second; residuals (0, 1.2) and (0.6, -0.2).
  const auto vlad = vlad_descriptor(centres, 2, feature_set({.8f, .6f, .8f, .6f, .6f, .8f}, 2));
  const float s = std::sqrt(0.5f);
  const float a = -0.4f / std::hypot(0.4f, 1.2f), b = 1.2f / std::hypot(0.4f, 1.2f);
  const float c = 0.6f / std::hypot(0.6f, 0.2f), d = -0.2f / std::hypot(0.6f, 0.2f);
  EXPECT_THAT(vlad,
              ElementsAre(::testing::FloatNear(a * s, 1e-6), ::testing::FloatNear(b * s, 1e-6),
                          ::testing::FloatNear(c * s, 1e-6), ::testing::FloatNear(d * s, 1e-6)));
}

TEST(Vlad, ClustersWithoutMembersStayZeroAndTheRestIsUnit) {
  const std::vector<float> centres{1, 0, 0, 1, -1, 0};
  const auto vlad = vlad_descriptor(centres, 3, feature_set({.8f, .6f}, 2));
  EXPECT_NEAR(norm(vlad), 1, 1e-6);
  EXPECT_THAT(std::vector(vlad.begin() + 2, vlad.end()), Each(0.0f));
}

TEST(Vlad, NothingUsableGivesZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> centres{1, 0, 0, 1};
  EXPECT_THAT(vlad_descriptor(centres, 2, {}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(vlad_descriptor(centres, 2, feature_set({0, 0, nan, 1, inf, 0}, 2)),
              ElementsAre(0, 0, 0, 0));
}

TEST(CosineAssignment, EqualCentresGoToTheFirst) {
  // 40 centres, so that equal ones lie in different blocks.
  std::vector<float> centres;
  for (int k = 0; k < 40; ++k) {
    const std::vector<float> centre{float(k % 20), 5, 2};
    centres.insert(centres.end(), centre.begin(), centre.end());
  }
  const CosineAssignment assignment(centres, 40, 3);
  for (std::uint32_t k = 0; k < 40; ++k) EXPECT_EQ(assignment.nearest(&centres[3 * k]), k % 20);
}

TEST(CosineAssignment, LengthsDoNotMatter) {
  const std::vector<float> centres{100, 0, 0, 0.01f, 0, 0};
  const CosineAssignment assignment(centres, 3, 2);
  const std::vector<float> up{0.1f, 7}, right{7, 0.1f}, left{-1, -1};
  EXPECT_EQ(assignment.nearest(up.data()), 1u);
  EXPECT_EQ(assignment.nearest(right.data()), 0u);
  EXPECT_EQ(assignment.nearest(left.data()), 2u);  // a centre of zeros has cosine 0
}

TEST(VladTraining, FindsTheBundles) {
  const int groups = 9, dimension = 24;
  const auto rows = bundled_rows(900, dimension, groups, 3);
  VladTraining options;
  options.clusters = groups;
  const VladVocabulary vocabulary = train_vlad_vocabulary(rows, dimension, options);
  ASSERT_EQ(vocabulary.clusters, groups);
  ASSERT_EQ(vocabulary.centres.size(), std::size_t(groups * dimension));
  const CosineAssignment assignment(vocabulary.centres, groups, dimension);
  std::set<std::uint32_t> labels;
  for (int i = 0; i < 900; ++i) {
    const auto label = assignment.nearest(rows.data() + i * dimension);
    EXPECT_EQ(label, assignment.nearest(rows.data() + (i % groups) * dimension));
    labels.insert(label);
  }
  EXPECT_EQ(labels.size(), std::size_t(groups));
}

TEST(VladTraining, CentresAreMeansOfTheirMembersNotRenormalised) {
  const std::vector<float> rows{1, 0, 0, 1};
  VladTraining options;
  options.clusters = 1;
  EXPECT_THAT(train_vlad_vocabulary(rows, 2, options).centres, ElementsAre(0.5f, 0.5f));
}

TEST(VladTraining, DependsOnTheSeedAndNotOnTheThreads) {
  const auto rows = bundled_rows(5000, 16, 40, 8);
  VladTraining options;
  options.clusters = 20;
  options.max_samples = 3000;
  const std::size_t before = thread_count();
  set_thread_count(1);
  const VladVocabulary one = train_vlad_vocabulary(rows, 16, options);
  set_thread_count(3);
  const VladVocabulary three = train_vlad_vocabulary(rows, 16, options);
  set_thread_count(before);
  EXPECT_EQ(one.centres, three.centres);
  EXPECT_EQ(one.hash(), three.hash());
  options.seed = 2;
  EXPECT_NE(train_vlad_vocabulary(rows, 16, options).hash(), one.hash());
}

TEST(VladTraining, SamplesAllStretchesOfTheInput) {
  // Sorted by bundle: a sample of the beginning would miss most bundles.
  const int groups = 10, dimension = 16;
  std::vector<float> sorted;
  const auto rows = bundled_rows(2000, dimension, groups, 4);
  for (int g = 0; g < groups; ++g) {
    for (int i = g; i < 2000; i += groups) {
      sorted.insert(sorted.end(), &rows[i * dimension], &rows[i * dimension] + dimension);
    }
  }
  VladTraining options;
  options.clusters = groups;
  options.max_samples = 100;
  const VladVocabulary vocabulary = train_vlad_vocabulary(sorted, dimension, options);
  const CosineAssignment assignment(vocabulary.centres, groups, dimension);
  std::set<std::uint32_t> labels;
  for (int g = 0; g < groups; ++g) labels.insert(assignment.nearest(&rows[g * dimension]));
  EXPECT_EQ(labels.size(), std::size_t(groups));
}

TEST(VladTraining, HasNoMoreClustersThanDistinctRows) {
  const std::vector<float> rows{1, 0, 0, 1, 1, 0, 1, 0, 0, 1};
  const VladVocabulary vocabulary = train_vlad_vocabulary(rows, 2, {});
  EXPECT_EQ(vocabulary.clusters, 2);
  EXPECT_THAT(vocabulary.centres,
              ::testing::AnyOf(ElementsAre(1, 0, 0, 1), ElementsAre(0, 1, 1, 0)));
}

TEST(VladTraining, SurvivesRowsThatAreNoUse) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(train_vlad_vocabulary({}, 2, {}).centres, (std::vector<float>{0, 0}));
  const std::vector<float> rows{0, 0, nan, 1, 0, 1};
  EXPECT_THAT(train_vlad_vocabulary(rows, 2, {}).centres, ElementsAre(0, 1));
}

TEST(VladTraining, RefusesNoClusters) {
  VladTraining options;
  options.clusters = 0;
  EXPECT_THROW(train_vlad_vocabulary(std::vector<float>{1, 0}, 2, options), Error);
}

TEST(VladVocabulary, HashIsOfTheCentresBytes) {
  const VladVocabulary vocabulary{1, 2, {1.0f, 0.0f}};
  EXPECT_EQ(vocabulary.hash(), sha256_hex(std::string_view("\0\0\x80\x3f\0\0\0\0", 8)));
}

}  // namespace
}  // namespace skyfix
