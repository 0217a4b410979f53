#include "skyfix/localize/heading.h"

#include <gmock/gmock.h>

#include <set>
#include <utility>

#include "skyfix/localize/testing.h"
#include "skyfix/localize/turn.h"

namespace skyfix {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Four map photos, all standing alike.
class Heading : public ::testing::Test {
 protected:
  static std::vector<TestMap::CameraSpec> cameras() {
    const Camera camera{CameraModel::simple_pinhole, 640, 480, {500, 320, 240}};
    return {{camera, "", ""}, {camera, "", ""}, {camera, "", ""}, {camera, "", ""}};
  }

  // Matches that a photo gives which stands like the map when turned by `right`.
  TurnChoice choose(int right, const std::vector<HeadingHint>& hints,
                    const std::vector<std::uint32_t>& candidates = {2, 0, 3, 1}) {
    asked_.clear();
    return choose_turns(map_.map(), candidates, hints, [&](const TurnedCandidate& candidate) {
      asked_.insert({candidate.image, candidate.turn});
      return candidate.turn == right ? matches_ + int(candidate.image) : 3;
    });
  }
  // That the photo must be turned by so much to stand like the map.
  HeadingHint hint(const std::string& source, int quarters) const {
    return {source, turned_camera(map_.map().cam_from_map(0), 4 - quarters)};
  }

  TestMap map_{cameras()};
  int matches_ = kTurnBorneOut;
  std::set<std::pair<std::uint32_t, int>> asked_;
};

void expect_all_turned(const TurnChoice& choice, int turn) {
  ASSERT_EQ(choice.candidates.size(), 4u);
  const std::uint32_t order[] = {2, 0, 3, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(choice.candidates[i].image, order[i]) << "the order is kept";
    EXPECT_EQ(choice.candidates[i].turn, turn);
  }
  EXPECT_EQ(choice.turn, turn);
}

TEST_F(Heading, AHintBorneOutSavesTheOtherTurns) {
  const TurnChoice choice = choose(3, {hint("last fix", 3), hint("gimbal", 1)});
  expect_all_turned(choice, 3);
  EXPECT_EQ(choice.source, "last fix");
  EXPECT_THAT(asked_, ElementsAre(Pair(0, 3), Pair(2, 3), Pair(3, 3)));
}

TEST_F(Heading, AHintThatThePicturesBelieIsPassedOver) {
  const TurnChoice second = choose(1, {hint("last fix", 3), hint("gimbal", 1)});
  expect_all_turned(second, 1);
  EXPECT_EQ(second.source, "gimbal");
  const TurnChoice none = choose(2, {hint("last fix", 3), hint("gimbal", 1)});
  expect_all_turned(none, 2);
  EXPECT_EQ(none.source, "tried");
}

TEST_F(Heading, AllFourTurnsAreTried) {
  for (int right = 0; right < 4; ++right) {
    const TurnChoice choice = choose(right, {});
    expect_all_turned(choice, right);
    EXPECT_EQ(choice.source, "tried");
    EXPECT_EQ(asked_.size(), 4u * kTurnWitnesses);
  }
}

TEST_F(Heading, FewMatchesDecideWhenTriedButBearNoHintOut) {
  matches_ = kTurnBorneOut - 4;  // the witnesses' numbers are added
  const TurnChoice choice = choose(1, {hint("gimbal", 1)});
  expect_all_turned(choice, 1);
  EXPECT_EQ(choice.source, "tried");
}

TEST_F(Heading, NoMatchesAtAllLeaveThePhotoAsItIs) {
  const TurnChoice choice = choose_turns(map_.map(), std::vector<std::uint32_t>{1}, {},
                                         [](const TurnedCandidate&) { return 0; });
  ASSERT_EQ(choice.candidates.size(), 1u);
  EXPECT_EQ(choice.turn, 0);
}

TEST(ImagesByTurn, KeepsTheOrder) {
  const std::vector<TurnedCandidate> candidates = {{5, 1}, {2, 0}, {7, 1}, {1, 3}};
  EXPECT_THAT(
      images_by_turn(candidates),
      ElementsAre(Pair(0, ElementsAre(2)), Pair(1, ElementsAre(5, 7)), Pair(3, ElementsAre(1))));
  EXPECT_THAT(images_by_turn({}), IsEmpty());
}

}  // namespace
}  // namespace skyfix
