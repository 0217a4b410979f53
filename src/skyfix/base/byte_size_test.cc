#include "skyfix/base/byte_size.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

using testing::HasSubstr;

std::uint64_t parse(std::string_view text) { return parse_byte_size(text, "--gpu-memory"); }

TEST(ParseByteSize, BinaryUnitsWithAndWithoutTheI) {
  for (const char* text : {"8GiB", "8 GiB", "8gib", "8G", "8g", " 8 GIB  ", "8192MiB", "8192m",
                           "8388608 KiB", "8388608k", "8589934592", "8589934592B", "8.0GiB"}) {
    EXPECT_EQ(parse(text), 8ULL << 30) << text;
  }
  EXPECT_EQ(parse("2TiB"), 2ULL << 40);
  EXPECT_EQ(parse("2t"), 2ULL << 40);
}

TEST(ParseByteSize, DecimalUnits) {
  EXPECT_EQ(parse("512MB"), 512'000'000U);
  EXPECT_EQ(parse("8 gb"), 8'000'000'000U);
  EXPECT_EQ(parse("3kB"), 3'000U);
  EXPECT_EQ(parse("1TB"), 1'000'000'000'000U);
}

TEST(ParseByteSize, FractionsRoundToTheNearestByte) {
  EXPECT_EQ(parse("7.5g"), 15ULL << 29);
  EXPECT_EQ(parse(".5KiB"), 512U);
  EXPECT_EQ(parse("1.KiB"), 1024U);
  EXPECT_EQ(parse("0.0016KB"), 2U);
}

TEST(ParseByteSize, WholeNumbersAreExact) {
  EXPECT_EQ(parse("9007199254740993"), 9007199254740993U);  // 2^53 + 1: no double
}

TEST(ParseByteSize, RefusesEverythingElse) {
  for (const char* text : {"",
                           " ",
                           "0",
                           "0GiB",
                           "0.0",
                           "0.0000001KB",
                           "-1",
                           "-8GiB",
                           "+8GiB",
                           "GiB",
                           "g",
                           "8x",
                           "8 GiB extra",
                           "8GiBs",
                           "8bits",
                           "8iB",
                           "8 Gi",
                           "nan",
                           "NaN",
                           "inf",
                           "1e3",
                           "1e3 GiB",
                           "0x8",
                           "8,5GiB",
                           "1.2.3",
                           ".",
                           ".GiB",
                           "8 8GiB",
                           "99999999999999999999",
                           "18446744073709551616",
                           "16777216TiB",
                           "99999999T",
                           "999999999999999999.5T",
                           "8\xc2\xa0GiB"}) {
    EXPECT_THROW(parse(text), Error) << text;
  }
}

TEST(ParseByteSize, TheMessageNamesOptionTextAndExamples) {
  try {
    parse_byte_size("eight", "--host-memory");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_THAT(error.what(), HasSubstr("--host-memory"));
    EXPECT_THAT(error.what(), HasSubstr("'eight'"));
    EXPECT_THAT(error.what(), HasSubstr("8GiB"));
  }
}

TEST(FormatByteSize, TwoDecimalsOfTheLargestUnit) {
  EXPECT_EQ(format_byte_size(0), "0 B");
  EXPECT_EQ(format_byte_size(1023), "1023 B");
  EXPECT_EQ(format_byte_size(1024), "1.00 KiB");
  EXPECT_EQ(format_byte_size(8'074'538'516), "7.52 GiB");
  EXPECT_EQ(format_byte_size((1ULL << 30) - 1), "1.00 GiB");
  EXPECT_EQ(format_byte_size(1ULL << 40), "1.00 TiB");
  EXPECT_EQ(format_byte_size(UINT64_MAX), "16.00 EiB");
}

TEST(FormatByteSize, IsReadBackToWithinItsDecimals) {
  for (const std::uint64_t bytes :
       std::array<std::uint64_t, 4>{5000, 7'777'777, 1ULL << 33, 1ULL << 45}) {
    const auto back = static_cast<double>(parse(format_byte_size(bytes)));
    EXPECT_NEAR(back / static_cast<double>(bytes), 1, 0.005) << bytes;
  }
}

}  // namespace
}  // namespace skyfix
