#include "skyfix/retrieval/candidates.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/map/map_testing.h"
#include "skyfix/retrieval/small_map_testing.h"

namespace skyfix {
namespace {

using enum CandidateSource;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ProposalList proposals(CandidateSource source, std::initializer_list<std::uint32_t> images) {
  ProposalList list{source, {}};
  for (const std::uint32_t image : images) {
    list.proposals.push_back({image, 1.0 - 0.01 * double(list.proposals.size())});
  }
  return list;
}

ProposalList range(CandidateSource source, std::uint32_t first, std::uint32_t count) {
  ProposalList list{source, {}};
  for (std::uint32_t i = 0; i < count; ++i) list.proposals.push_back({first + i, -double(i)});
  return list;
}

std::vector<std::uint32_t> images(const Fusion& fusion) {
  std::vector<std::uint32_t> result;
  for (const Candidate& candidate : fusion.candidates) result.push_back(candidate.image_index);
  return result;
}

std::vector<std::uint32_t> images(const ProposalList& list) {
  std::vector<std::uint32_t> result;
  for (const Proposal& proposal : list.proposals) result.push_back(proposal.image_index);
  return result;
}

int selected_from(const Fusion& fusion, CandidateSource source) {
  return int(std::count_if(fusion.candidates.begin(), fusion.candidates.end(),
                           [&](const Candidate& c) { return c.selected_source == source; }));
}

bool proposed_by(const Candidate& candidate, CandidateSource source) {
  return std::any_of(candidate.origins.begin(), candidate.origins.end(),
                     [&](const CandidateOrigin& origin) { return origin.source == source; });
}

class FuseCandidates : public ::testing::Test {
 protected:
  static constexpr int kImages = 60;

  static std::vector<SmallMapImage> row_of_images() {
    std::vector<SmallMapImage> images;
    for (int i = 0; i < kImages; ++i) {
      images.push_back({"flight/img" + std::to_string(i) + ".jpg", Eigen::Vector3d(i, 0, 50)});
    }
    return images;
  }
  Fusion fuse(const std::vector<ProposalList>& lists, CandidatePolicy policy, int limit = 15,
              int per_source = 5) const {
    return fuse_candidates(map_, lists, {policy, limit, per_source});
  }

  ScratchFolder scratch_;
  Map map_ = small_map(scratch_ / "map", row_of_images());
};

// What went wrong in the field: 20 temporal candidates swallowed all of the 15 retrieved ones (five
// of the retrieved images were temporal neighbours as well), the log said "retrieval = 0" and the
// order was that of temporal distance.
TEST_F(FuseCandidates, TemporalCandidatesDoNotSwallowRetrievedOnes) {
  const std::vector<ProposalList> lists{range(temporal, 0, 20), range(faiss, 15, 15)};

  const Fusion first = fuse(lists, CandidatePolicy::retrieval_first);
  EXPECT_EQ(first.num_faiss_candidates, 15);
  EXPECT_EQ(first.num_temporal_candidates, 20);
  EXPECT_EQ(first.num_prior_candidates, 0);
  EXPECT_THAT(images(first), ElementsAre(15, 16, 17, 18, 19, 0, 1, 2, 3, 4, 20, 21, 22, 23, 24));
  EXPECT_EQ(selected_from(first, faiss), 10);
  EXPECT_EQ(selected_from(first, temporal), 5);

  const Fusion tracking = fuse(lists, CandidatePolicy::temporal_first);
  EXPECT_EQ(tracking.num_faiss_candidates, 15);
  EXPECT_EQ(tracking.num_temporal_candidates, 20);
  EXPECT_THAT(images(tracking), ElementsAre(0, 1, 2, 3, 4, 15, 16, 17, 18, 19, 5, 6, 7, 8, 9));
  EXPECT_EQ(selected_from(tracking, temporal), 10);
  EXPECT_EQ(selected_from(tracking, faiss), 5);
}

// The same with the temporal candidates being the very images that were retrieved.
TEST_F(FuseCandidates, AnImageOfTwoSourcesCountsForBoth) {
  const std::vector<ProposalList> lists{range(temporal, 0, 20), range(faiss, 0, 15)};
  for (const auto policy : {CandidatePolicy::retrieval_first, CandidatePolicy::retrieval_only,
                            CandidatePolicy::temporal_first}) {
    const Fusion fusion = fuse(lists, policy);
    EXPECT_EQ(fusion.num_faiss_candidates, 15) << candidate_policy_name(policy);
    EXPECT_EQ(fusion.num_temporal_candidates, 20) << candidate_policy_name(policy);
    ASSERT_THAT(fusion.candidates, SizeIs(15));
    for (const Candidate& candidate : fusion.candidates) {
      EXPECT_TRUE(proposed_by(candidate, faiss)) << candidate.name;
      EXPECT_TRUE(proposed_by(candidate, temporal)) << candidate.name;
    }
  }
}

TEST_F(FuseCandidates, OrderFollowsThePolicy) {
  const std::vector<ProposalList> lists{proposals(prior, {7, 1}), proposals(temporal, {5, 3}),
                                        proposals(faiss, {3, 9})};
  EXPECT_THAT(images(fuse(lists, CandidatePolicy::retrieval_first)), ElementsAre(3, 9, 5, 7, 1));
  EXPECT_THAT(images(fuse(lists, CandidatePolicy::temporal_first)), ElementsAre(5, 3, 9, 7, 1));
  EXPECT_THAT(images(fuse(lists, CandidatePolicy::retrieval_only)), ElementsAre(3, 9));
}

TEST_F(FuseCandidates, OriginsKeepRankAndScoreOfEverySource) {
  const std::vector<ProposalList> lists{proposals(temporal, {5, 3}), proposals(faiss, {9, 8, 3})};
  for (const auto policy : {CandidatePolicy::retrieval_first, CandidatePolicy::retrieval_only}) {
    const Fusion fusion = fuse(lists, policy);
    const Candidate& both = fusion.candidates.at(2);
    EXPECT_EQ(both.name, "flight/img3.jpg");
    EXPECT_EQ(both.selected_source, faiss);
    ASSERT_THAT(both.origins, SizeIs(2));
    for (const CandidateOrigin& origin : both.origins) {
      EXPECT_EQ(origin.rank, origin.source == faiss ? 3 : 2);
      EXPECT_DOUBLE_EQ(origin.score, origin.source == faiss ? 0.98 : 0.99);
    }
  }
}

TEST_F(FuseCandidates, AnImageProposedTwiceByOneSourceCountsOnce) {
  const std::vector<ProposalList> lists{proposals(faiss, {4, 4, 6}), proposals(faiss, {6, 2})};
  const Fusion fusion = fuse(lists, CandidatePolicy::retrieval_first);
  EXPECT_EQ(fusion.num_faiss_candidates, 3);
  EXPECT_THAT(images(fusion), ElementsAre(4, 6, 2));
  for (const Candidate& candidate : fusion.candidates) EXPECT_THAT(candidate.origins, SizeIs(1));
  EXPECT_EQ(fusion.candidates[1].origins[0].rank, 1);  // the better of its two
}

TEST_F(FuseCandidates, UnusedPlacesGoToTheOthers) {
  const auto counts = [&](const std::vector<ProposalList>& lists, int limit, int per_source) {
    const Fusion fusion = fuse(lists, CandidatePolicy::temporal_first, limit, per_source);
    return std::pair(selected_from(fusion, temporal), selected_from(fusion, faiss));
  };
  EXPECT_EQ(counts({range(temporal, 0, 20)}, 15, 5), std::pair(15, 0));
  EXPECT_EQ(counts({range(temporal, 0, 20), range(faiss, 30, 2)}, 15, 5), std::pair(13, 2));
  EXPECT_EQ(counts({range(temporal, 0, 4), range(faiss, 30, 20)}, 15, 5), std::pair(4, 11));
  EXPECT_EQ(counts({range(temporal, 0, 20), range(faiss, 30, 20)}, 3, 5), std::pair(3, 0));
  EXPECT_EQ(counts({range(temporal, 0, 20), range(faiss, 30, 20)}, 15, 0), std::pair(15, 0));
  EXPECT_EQ(counts({range(temporal, 0, 20), range(faiss, 30, 20)}, 15, -4), std::pair(15, 0));
}

// With a map of many images retrieval always fills its pool: the image beside the last fix must
// still get its turn.
TEST_F(FuseCandidates, AFullPoolOfRetrievedImagesLeavesRoomForTheOthers) {
  const std::vector<ProposalList> lists{range(faiss, 0, 15), range(temporal, 30, 20),
                                        range(prior, 55, 3)};
  const Fusion fusion = fuse(lists, CandidatePolicy::retrieval_first);
  EXPECT_EQ(selected_from(fusion, faiss), 7);
  EXPECT_EQ(selected_from(fusion, temporal), 5);
  EXPECT_EQ(selected_from(fusion, prior), 3);
}

TEST_F(FuseCandidates, NothingProposedOrWantedGivesNothing) {
  EXPECT_THAT(fuse({}, CandidatePolicy::retrieval_first).candidates, IsEmpty());
  const std::vector<ProposalList> lists{range(faiss, 0, 3), range(temporal, 5, 3)};
  for (const int limit : {0, -1}) {
    const Fusion fusion = fuse(lists, CandidatePolicy::temporal_first, limit);
    EXPECT_THAT(fusion.candidates, IsEmpty());
    EXPECT_EQ(fusion.num_faiss_candidates, 3);
    EXPECT_EQ(fusion.num_temporal_candidates, 3);
  }
}

// Whatever the lists: counts are those of the lists, nothing is there twice, places are used up,
// and every source that the policy uses has its places or all it proposed.
TEST_F(FuseCandidates, HoldsItsPromisesForAnyLists) {
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<ProposalList> lists;
    std::map<CandidateSource, std::set<std::uint32_t>> proposed;
    std::set<std::uint32_t> usable;
    const auto policy = CandidatePolicy(random() % 3);
    for (const CandidateSource source : {temporal, faiss, prior}) {
      lists.push_back({source, {}});
      for (int i = int(random() % 25); i > 0; --i) {
        const auto image = std::uint32_t(random() % 40);
        lists.back().proposals.push_back({image, 0});
        proposed[source].insert(image);
        if (source == faiss || policy != CandidatePolicy::retrieval_only) usable.insert(image);
      }
    }
    const int limit = int(random() % 20), per_source = int(random() % 8);
    const Fusion fusion = fuse(lists, policy, limit, per_source);
    ASSERT_EQ(fusion.num_faiss_candidates, int(proposed[faiss].size()));
    ASSERT_EQ(fusion.num_temporal_candidates, int(proposed[temporal].size()));
    ASSERT_EQ(fusion.num_prior_candidates, int(proposed[prior].size()));
    const auto chosen = images(fusion);
    ASSERT_EQ(std::set(chosen.begin(), chosen.end()).size(), chosen.size());
    ASSERT_EQ(chosen.size(), std::min(usable.size(), std::size_t(limit)));
    std::map<CandidateSource, int> held;
    for (const Candidate& candidate : fusion.candidates) {
      ASSERT_TRUE(proposed_by(candidate, candidate.selected_source));
      for (const CandidateSource source : {temporal, faiss, prior}) {
        ASSERT_EQ(proposed_by(candidate, source), proposed[source].contains(candidate.image_index));
        held[source] += proposed_by(candidate, source);
      }
    }
    if (policy == CandidatePolicy::retrieval_only) {
      ASSERT_EQ(held[faiss], std::min(limit, int(proposed[faiss].size())));
    } else if (limit >= 3 * per_source) {
      for (const CandidateSource source : {temporal, faiss, prior}) {
        ASSERT_GE(held[source], std::min(per_source, int(proposed[source].size())));
      }
    }
  }
}

TEST(CandidateNames, GoBothWays) {
  for (const auto policy : {CandidatePolicy::retrieval_first, CandidatePolicy::retrieval_only,
                            CandidatePolicy::temporal_first}) {
    EXPECT_EQ(candidate_policy_from_name(candidate_policy_name(policy)), policy);
  }
  EXPECT_EQ(candidate_policy_name(CandidatePolicy::temporal_first), "temporal-first");
  EXPECT_EQ(candidate_source_name(faiss), "faiss");
  EXPECT_EQ(candidate_source_name(temporal), "temporal");
  EXPECT_EQ(candidate_source_name(prior), "prior");
  EXPECT_THAT(error_of(Reason::bad_option, [] { candidate_policy_from_name("retrieval_first"); }),
              ::testing::HasSubstr("did you mean retrieval-first"));
  error_of(Reason::bad_option, [] { candidate_policy_from_name(""); });
}

Rigid3 camera_at(const Eigen::Vector3d& centre, const Eigen::Quaterniond& cam_from_map) {
  return {cam_from_map, -(cam_from_map * centre)};
}

const Eigen::Quaterniond kDown(0, 1, 0, 0);

// Tilted away from looking down, about the camera's x axis.
Eigen::Quaterniond tilted(double degrees) {
  return Eigen::AngleAxisd(degrees * std::numbers::pi / 180, Eigen::Vector3d::UnitX()) * kDown;
}

TEST(TemporalCandidates, AreNearestFirstWithinTheLimit) {
  const ScratchFolder scratch;
  const Map map = small_map(scratch / "map", {{"a1.jpg", {0, 0, 50}},
                                              {"a2.jpg", {10, 0, 50}},
                                              {"a3.jpg", {0, 20, 50}},
                                              {"a4.jpg", {0, 0, 80}}});
  const Rigid3 expected = camera_at({1, 0, 50}, kDown);
  const ProposalList list = temporal_candidates(map, expected, 10);
  EXPECT_EQ(list.source, temporal);
  EXPECT_THAT(images(list), ElementsAre(0, 1, 2, 3));
  EXPECT_NEAR(list.proposals[0].score, -1, 1e-9);
  EXPECT_NEAR(list.proposals[1].score, -9, 1e-9);
  EXPECT_THAT(images(temporal_candidates(map, expected, 2)), ElementsAre(0, 1));
  EXPECT_THAT(images(temporal_candidates(map, expected, 0)), IsEmpty());
  EXPECT_THAT(images(temporal_candidates(map, expected, -1)), IsEmpty());
  // Equally far: the lower index.
  EXPECT_THAT(images(temporal_candidates(map, camera_at({5, 0, 50}, kDown), 1)), ElementsAre(0));
}

TEST(TemporalCandidates, LookTheSameWay) {
  const ScratchFolder scratch;
  const Eigen::Vector3d here(0, 0, 50);
  const Map map = small_map(
      scratch / "map", {{"a1.jpg", here, tilted(61)},
                        {"a2.jpg", here, tilted(-59)},
                        {"a3.jpg", here, tilted(180)},
                        // Turned about its axis: it sees the same.
                        {"a4.jpg", here, Eigen::AngleAxisd(3, Eigen::Vector3d::UnitZ()) * kDown}});
  EXPECT_THAT(images(temporal_candidates(map, camera_at(here, kDown), 10)), ElementsAre(1, 3));
}

TEST(TemporalCandidates, AnExpectationThatIsNoNumberGivesNothing) {
  const ScratchFolder scratch;
  const Map map = small_map(scratch / "map", {{"a1.jpg", {0, 0, 50}}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(images(temporal_candidates(map, camera_at({nan, 0, 0}, kDown), 10)), IsEmpty());
}

class PriorCandidates : public ::testing::Test {
 protected:
  // Map units are 2 m; map x points north, map y west.
  PriorCandidates() {
    georegistration_.kind = Georegistration::Kind::given_origin;
    georegistration_.origin = {51.5, -0.12, 70};
    georegistration_.enu_from_map.scale = 2;
    georegistration_.enu_from_map.rotation =
        Eigen::AngleAxisd(std::numbers::pi / 2, Eigen::Vector3d::UnitZ());
  }
  // What lies this far from the origin.
  Wgs84 position(double east_m, double north_m, double up_m) const {
    return EnuFrame(georegistration_.origin).wgs84_from_enu({east_m, north_m, up_m});
  }

  ScratchFolder scratch_;
  Georegistration georegistration_;
  std::vector<SmallMapImage> images_{
      {"a1.jpg", {0, 0, 50}}, {"a2.jpg", {10, 0, 50}}, {"a3.jpg", {0, -40, 50}}};
};

TEST_F(PriorCandidates, AreWithinTheRadiusByHorizontalDistance) {
  const Map map = small_map(scratch_ / "map", images_, georegistration_);
  // Image a2 is 20 m north of the origin, a3 80 m east.
  const ProposalList list = prior_candidates(map, position(0, 18, 500), 30, 10);
  EXPECT_EQ(list.source, prior);
  EXPECT_THAT(images(list), ElementsAre(1, 0));
  EXPECT_NEAR(list.proposals[0].score, -1, 1e-3);  // map units
  EXPECT_NEAR(list.proposals[1].score, -9, 1e-3);
  EXPECT_THAT(images(prior_candidates(map, position(79, 0, 0), 30, 10)), ElementsAre(2));
  EXPECT_THAT(images(prior_candidates(map, position(0, 18, 0), 30, 1)), ElementsAre(1));
}

TEST_F(PriorCandidates, AreEmptyFarAwayOrWithoutAUsablePosition) {
  const Map map = small_map(scratch_ / "map", images_, georegistration_);
  EXPECT_THAT(images(prior_candidates(map, position(5000, 0, 0), 100, 10)), IsEmpty());
  EXPECT_THAT(images(prior_candidates(map, {91, 0, 0}, 1e9, 10)), IsEmpty());
  EXPECT_THAT(images(prior_candidates(map, {std::nan(""), 0, 0}, 1e9, 10)), IsEmpty());
  EXPECT_THAT(images(prior_candidates(map, position(0, 0, 0), -1, 10)), IsEmpty());
}

TEST_F(PriorCandidates, NeedAGeoregistration) {
  const Map map = small_map(scratch_ / "map", images_);
  EXPECT_THAT(images(prior_candidates(map, position(0, 0, 0), 1e9, 10)), IsEmpty());
}

}  // namespace
}  // namespace skyfix
