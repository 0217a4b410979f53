#include "skyfix/match/match_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace skyfix {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(MatchKey, OrdersByScoreThenByLowerIndex) {
  const std::vector<float> rising{-kInf,  -3e38f, -1.5f, -1e-40f, 0.0f,
                                  1e-45f, 1e-38f, 0.5f,  1.0f,    std::nextafter(1.0f, 2.0f),
                                  3e38f,  kInf};
  const std::vector<std::uint32_t> indices{0,          1,          77,        0x7fffffff,
                                           0x80000000, 0xfffffffe, 0xffffffff};
  for (std::size_t a = 0; a < rising.size(); ++a) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const MatchKey key = match_key(rising[a], indices[i]);
      EXPECT_NE(key, 0u);
      EXPECT_EQ(match_key_score(key), rising[a]);
      EXPECT_EQ(match_key_index(key), std::int64_t{indices[i]});
      if (i > 0) {
        EXPECT_LT(key, match_key(rising[a], indices[i - 1]));
      }
      if (a > 0) {
        EXPECT_GT(key, match_key(rising[a - 1], indices[0]));
      }
    }
  }
}

TEST(MatchKey, BothZerosAreOneScore) {
  EXPECT_EQ(match_key(-0.0f, 5), match_key(0.0f, 5));
  EXPECT_FALSE(std::signbit(match_key_score(match_key(-0.0f, 5))));
}

TEST(MatchKey, ZeroIsNone) {
  EXPECT_EQ(match_key_index(0), -1);
  EXPECT_EQ(match_key_score(0), -kInf);
}

TEST(RowType, Sizes) {
  EXPECT_EQ(row_type_bytes(RowType::float32), 4u);
  EXPECT_EQ(row_type_bytes(RowType::float16), 2u);
  EXPECT_EQ(row_type_bytes(RowType::bfloat16), 2u);
}

}  // namespace
}  // namespace skyfix
