#include "skyfix/base/strong_id.h"

#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>
#include <unordered_set>

namespace skyfix {
namespace {

using CatId = StrongId<struct CatTag, std::uint32_t>;
using DogId = StrongId<struct DogTag, std::uint32_t>;

static_assert(!std::is_convertible_v<CatId, DogId>);
static_assert(!std::is_constructible_v<CatId, DogId>);
static_assert(!std::is_convertible_v<std::uint32_t, CatId>);
static_assert(!std::is_convertible_v<CatId, std::uint32_t>);

TEST(StrongId, DefaultIsNone) {
  EXPECT_FALSE(CatId().valid());
  EXPECT_EQ(CatId().value, 0xffffffffu);
  EXPECT_TRUE(CatId(0).valid());
}

TEST(StrongId, OrdersHashesAndPrintsAsItsNumber) {
  EXPECT_LT(CatId(2), CatId(10));
  const std::unordered_set<CatId> ids = {CatId(3), CatId(4), CatId(3)};
  EXPECT_EQ(ids.size(), 2);
  std::ostringstream out;
  out << CatId(17);
  EXPECT_EQ(out.str(), "17");
}

}  // namespace
}  // namespace skyfix
