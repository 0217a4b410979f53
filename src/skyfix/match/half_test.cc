#include "skyfix/match/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace skyfix {
namespace {

struct Format {
  const char* name;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
  int exponent_bits;
  int fraction_bits;
};

class Half : public ::testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(
    Formats, Half,
    ::testing::Values(Format{"float16", float_from_float16, float16_from_float, 5, 10},
                      Format{"bfloat16", float_from_bfloat16, bfloat16_from_float, 8, 7}),
    [](const auto& info) { return std::string(info.param.name); });

// The definition of an IEEE number, in double.
double defined_value(const Format& format, std::uint16_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = bits >> format.fraction_bits & ((1 << format.exponent_bits) - 1);
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - format.fraction_bits);
  return sign *
         std::ldexp(fraction + (1 << format.fraction_bits), exponent - bias - format.fraction_bits);
}

TEST_P(Half, EveryNumberWidensToItsValueAndBack) {
  const Format& format = GetParam();
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float wide = format.widen(bits);
    const double value = defined_value(format, bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(wide)) << i;
      ASSERT_TRUE(std::isnan(format.widen(format.narrow(wide)))) << i;
      continue;
    }
    ASSERT_EQ(wide, value) << i;
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0) << i;
    ASSERT_EQ(format.narrow(wide), bits) << i;
  }
}

// Between every two neighbours: the midpoint goes to the even one, anything beside it to the
// nearer.
TEST_P(Half, NarrowingRoundsToNearestTiesToEven) {
  const Format& format = GetParam();
  const std::uint16_t infinity = ((1 << format.exponent_bits) - 1) << format.fraction_bits;
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const std::uint16_t high = low + 1;
    const double a = defined_value(format, low);
    // Above the largest number the next step decides what is infinite.
    const double b =
        high == infinity ? 2 * a - defined_value(format, low - 1) : defined_value(format, high);
    const auto middle = static_cast<float>((a + b) / 2);
    ASSERT_EQ(middle, (a + b) / 2) << low;
    const std::uint16_t even = low % 2 == 0 ? low : high;
    for (const std::uint16_t sign : {0x0000, 0x8000}) {
      const float turned = sign == 0 ? middle : -middle;
      ASSERT_EQ(format.narrow(turned), sign | even) << low;
      ASSERT_EQ(format.narrow(std::nextafter(turned, 0.0f)), sign | low) << low;
      ASSERT_EQ(format.narrow(std::nextafter(turned, turned * 2)), sign | high) << low;
    }
  }
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(format.narrow(most), infinity);
  EXPECT_EQ(format.narrow(-most), infinity | 0x8000);
}

TEST(WidenElements, TakesEveryType) {
  const std::vector<float> floats{1.5f, -2, 0, 0x1p-24f};
  for (const RowType type : {RowType::float32, RowType::float16, RowType::bfloat16}) {
    std::vector<std::uint16_t> narrow;
    for (const float value : floats) {
      narrow.push_back(type == RowType::float16 ? float16_from_float(value)
                                                : bfloat16_from_float(value));
    }
    const void* elements = type == RowType::float32 ? static_cast<const void*>(floats.data())
                                                    : static_cast<const void*>(narrow.data());
    std::vector<float> wide(floats.size());
    widen_elements(type, elements, wide.size(), wide.data());
    EXPECT_EQ(wide, floats);
  }
}

}  // namespace
}  // namespace skyfix
