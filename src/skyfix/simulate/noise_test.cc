#include "skyfix/simulate/noise.h"

#include <gtest/gtest.h>

namespace skyfix::sim {
namespace {

TEST(Rng, IsAFunctionOfSeedAndStream) {
  Rng a(5, 1);
  Rng same(5, 1);
  Rng other_stream(5, 2);
  Rng other_seed(6, 1);
  const std::uint64_t first = a.bits();
  EXPECT_EQ(first, same.bits());
  EXPECT_NE(first, other_stream.bits());
  EXPECT_NE(first, other_seed.bits());
}

TEST(Rng, DrawsUniformAndNormalNumbers) {
  Rng rng(1);
  double sum = 0;
  double squares = 0;
  double low = 1;
  double high = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.uniform();
    low = std::min(low, u);
    high = std::max(high, u);
    const double n = rng.normal();
    sum += n;
    squares += n * n;
  }
  EXPECT_GE(low, 0);
  EXPECT_LT(low, 0.001);
  EXPECT_LT(high, 1);
  EXPECT_GT(high, 0.999);
  EXPECT_NEAR(sum / kDraws, 0, 0.03);
  EXPECT_NEAR(squares / kDraws, 1, 0.04);
}

TEST(ValueNoise, IsContinuousAndWithinOne) {
  float largest_step = 0;
  for (int i = -3000; i < 3000; ++i) {
    const float x = 0.01f * float(i);
    const float here = value_noise(x, 0.3f * x, 9);
    ASSERT_LE(std::abs(here), 1);
    largest_step = std::max(largest_step, std::abs(value_noise(x + 0.01f, 0.3f * x, 9) - here));
  }
  EXPECT_LT(largest_step, 0.04f);  // the steepest slope is 3 a unit
  EXPECT_GT(largest_step, 0.005f);
}

TEST(Fractal, FadesWhatTheFootprintCannotResolve) {
  const Fractal fine{0.5f, 1, 1, 3};
  EXPECT_NE(fractal({1.3f, 2.7f}, fine, 0.1f), 0);
  EXPECT_EQ(fractal({1.3f, 2.7f}, fine, 0.1f), fractal({1.3f, 2.7f}, fine, 0.05f));
  EXPECT_EQ(fractal({1.3f, 2.7f}, fine, 0.3f), 0);
  // Never a jump as the altitude changes.
  const Fractal full{8, 5, 0.9f, 3};
  for (float footprint = 0.02f; footprint < 5; footprint *= 1.01f) {
    EXPECT_NEAR(fractal({11, 5}, full, footprint), fractal({11, 5}, full, footprint * 1.01f), 0.1f);
  }
}

}  // namespace
}  // namespace skyfix::sim
