#include "skyfix/geo/positive_polynomial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace skyfix::internal {
namespace {

TEST(PositivePolynomial, BernsteinEndsAreTheValuesAtTheEnds) {
  const auto b = bernstein_from_power<4>({2, -1, 3, 0.5});
  EXPECT_DOUBLE_EQ(b[0], 2);
  EXPECT_DOUBLE_EQ(b[1], 2 - 1.0 / 3);
  EXPECT_DOUBLE_EQ(b[3], 4.5);
}

TEST(PositivePolynomial, ADipBetweenPositiveEndsIsFound) {
  // (x - 0.5)^2 - d: below zero around the middle for d > 0.
  EXPECT_TRUE(positive_up_to<3>({0.25 + 1e-9, -1, 1}, 1));
  EXPECT_FALSE(positive_up_to<3>({0.25 - 1e-9, -1, 1}, 1));
  EXPECT_FALSE(positive_up_to<3>({0.25, -1, 1}, 1)) << "it touches zero";
  EXPECT_TRUE(positive_up_to<3>({0.25, -1, 1}, 0.499));
}

TEST(PositivePolynomial, NotFiniteIsNotPositive) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(positive_up_to<3>({1, 1, 1}, infinity));
  EXPECT_FALSE(positive_up_to<3>({1, std::numeric_limits<double>::quiet_NaN(), 1}, 1));
  EXPECT_FALSE(positive_up_to<7>({1, 1, 1, 1, 1, 1, 1}, 1e60));
}

TEST(PositivePolynomial, AgreesWithAFineGrid) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> coefficient(-3, 3);
  int positive = 0;
  for (int round = 0; round < 2000; ++round) {
    std::array<double, 7> c = {1};
    for (std::size_t i = 1; i < c.size(); ++i) c[i] = coefficient(random);
    double least = 1;
    for (int step = 0; step <= 500; ++step) {
      const double x = 1.2 * step / 500;
      double value = 0;
      for (std::size_t i = c.size(); i-- > 0;) value = value * x + c[i];
      least = std::min(least, value);
    }
    if (std::abs(least) < 1e-3) continue;  // the grid cannot tell
    EXPECT_EQ(positive_up_to(c, 1.2), least > 0);
    positive += least > 0 ? 1 : 0;
  }
  EXPECT_GT(positive, 200);
}

}  // namespace
}  // namespace skyfix::internal
