#include "skyfix/localize/map_match.h"

#include <gmock/gmock.h>

#include <random>

#include "skyfix/localize/testing.h"

namespace skyfix {
namespace {

constexpr int kDimension = 16;

// Unit descriptors: row i is the same for equal seeds.
std::vector<float> descriptor(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> row(kDimension);
  float sum = 0;
  for (float& value : row) {
    value = normal(random);
    sum += value * value;
  }
  for (float& value : row) value /= std::sqrt(sum);
  return row;
}

void add_row(std::vector<float>& rows, const std::vector<float>& row) {
  rows.insert(rows.end(), row.begin(), row.end());
}

Camera camera() { return {CameraModel::simple_pinhole, 640, 480, {500, 320, 240}}; }

// A frame that sees the five points of the test map at their projections, with their descriptors.
class MapMatchTest : public ::testing::Test {
 protected:
  MapMatchTest() : map_({{camera(), "", ""}}) {
    pool_.dimension = kDimension;
    frame_.dimension = kDimension;
    for (std::uint32_t p = 0; p < map_.map().point_count(); ++p) {
      pool_.point.push_back(p);
      pool_.image.push_back(0);
      add_row(pool_.descriptors, descriptor(p));
      const Eigen::Vector2d pixel = *camera().project(map_.map().point(p));
      frame_.keypoints.push_back({float(pixel.x()), float(pixel.y()), 2, 0, 1});
      add_row(frame_.descriptors, descriptor(p));
    }
  }

  std::vector<MapPair> match(int max_pairs) {
    const DescriptorView rows{pool_.descriptors.data(),
                              static_cast<std::int64_t>(pool_.point.size()), kDimension};
    const PoolReference reference{0, rows, pool_.point};
    PoolMatcher matcher;
    return match_to_map(frame_, {&reference, 1}, max_pairs, matcher).pairs;
  }

  TestMap map_;
  CandidatePool pool_;
  FeatureSet frame_;
};

TEST_F(MapMatchTest, MutualNeighboursBestMarginFirst) {
  const std::vector<MapPair> pairs = match(0);
  ASSERT_EQ(pairs.size(), 5u);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(pairs[i].feature, pairs[i].point);
    EXPECT_NEAR(pairs[i].score, 1, 1e-5);
    if (i > 0) {
      EXPECT_LE(pairs[i].margin, pairs[i - 1].margin);
    }
  }
  EXPECT_EQ(match(2).size(), 2u);
}

TEST_F(MapMatchTest, RowsOfTheSamePointAreNoRivals) {
  // Point 0 gets a second, nearly equal descriptor from another photo.
  pool_.point.push_back(0);
  pool_.image.push_back(0);
  std::vector<float> twin = descriptor(0);
  twin[0] += 0.01f;
  add_row(pool_.descriptors, twin);
  for (const MapPair& pair : match(0)) {
    if (pair.point == 0) {
      EXPECT_GT(pair.margin, 0.1f);
    }
  }
}

TEST_F(MapMatchTest, GuidedSearchLooksNearTheProjectionOnly) {
  const Rigid3 pose;  // the test map's first image has the identity
  const GuidedMatches all = match_guided(frame_, pool_, map_.map(), camera(), pose, {5, 0.75});
  EXPECT_EQ(all.expected, 5);
  EXPECT_EQ(all.pairs.size(), 5u);
  frame_.keypoints[1].x += 8;
  const GuidedMatches fewer = match_guided(frame_, pool_, map_.map(), camera(), pose, {5, 0.75});
  EXPECT_EQ(fewer.expected, 5);
  EXPECT_EQ(fewer.pairs.size(), 4u);
}

TEST_F(MapMatchTest, GuidedSearchWantsALikeDescriptor) {
  const std::vector<float> other = descriptor(99);
  std::copy(other.begin(), other.end(), frame_.descriptors.begin());
  const GuidedMatches found =
      match_guided(frame_, pool_, map_.map(), camera(), Rigid3(), {5, 0.75});
  EXPECT_EQ(found.pairs.size(), 4u);
}

TEST_F(MapMatchTest, PointsBehindOrOutsideAreNotExpected) {
  Rigid3 away;
  away.rotation = Eigen::AngleAxisd(3.14159265, Eigen::Vector3d::UnitY());
  EXPECT_EQ(match_guided(frame_, pool_, map_.map(), camera(), away, {5, 0.75}).expected, 0);
}

TEST_F(MapMatchTest, AFeatureServesOnePoint) {
  // All features on one pixel with one descriptor: at most one point may have it.
  for (Keypoint& keypoint : frame_.keypoints) keypoint = frame_.keypoints[0];
  for (std::size_t i = 0; i < pool_.point.size(); ++i) {
    std::copy_n(descriptor(0).begin(), kDimension, pool_.descriptors.begin() + i * kDimension);
  }
  const GuidedMatches found =
      match_guided(frame_, pool_, map_.map(), camera(), Rigid3(), {500, 0.75});
  std::set<std::uint32_t> features;
  for (const MapPair& pair : found.pairs) EXPECT_TRUE(features.insert(pair.feature).second);
}

TEST_F(MapMatchTest, SolverPairsCarryPixelPointAndGroup) {
  const std::vector<MapPair> pairs = match(0);
  const std::vector<PointPair> solver = solver_pairs(pairs, map_.map());
  ASSERT_EQ(solver.size(), pairs.size());
  for (std::size_t i = 0; i < solver.size(); ++i) {
    EXPECT_EQ(solver[i].group, pairs[i].point);
    EXPECT_EQ(solver[i].point, map_.map().point(pairs[i].point));
    EXPECT_FLOAT_EQ(float(solver[i].pixel.x()), frame_.keypoints[pairs[i].feature].x);
  }
}

}  // namespace
}  // namespace skyfix
