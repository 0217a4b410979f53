#include "skyfix/base/text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <clocale>
#include <string>
#include <vector>

namespace skyfix {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NaturalLess, SortsNumbersAsNumbers) {
  std::vector<std::string> names = {
      "frame10.jpg", "frame2.jpg", "frame1.jpg", "a/2", "a/10", "frame", ""};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_THAT(names,
              ElementsAre("", "a/2", "a/10", "frame", "frame1.jpg", "frame2.jpg", "frame10.jpg"));
}

TEST(NaturalLess, NumbersMayBeLongerThanAnyInteger) {
  EXPECT_TRUE(natural_less("x99999999999999999999999", "x100000000000000000000000"));
  EXPECT_FALSE(natural_less("x100000000000000000000000", "x99999999999999999999999"));
}

TEST(NaturalLess, BytesAboveAsciiComeLast) {
  EXPECT_TRUE(natural_less("z", "\xc3\xa9"));
  EXPECT_FALSE(natural_less("\xc3\xa9", "z"));
}

// std::sort runs out of bounds on an order that is not strict and total.
TEST(NaturalLess, IsAStrictTotalOrder) {
  const std::vector<std::string> names = {"",   "0",   "00",   "000",  "1",   "01",  "1a", "01a",
                                          "a1", "a01", "a1b2", "a01b", "a 1", "a-1", "a",  "a10",
                                          "b",  "/",   ":",    "1:",   "1/",  "10",  "9",  "09"};
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_EQ(natural_less(a, b) + natural_less(b, a), a == b ? 0 : 1) << a << " | " << b;
      for (const std::string& c : names) {
        if (natural_less(a, b) && natural_less(b, c)) {
          EXPECT_TRUE(natural_less(a, c)) << a << " | " << b << " | " << c;
        }
      }
    }
  }
}

TEST(NearestName, FindsTyposOnly) {
  const std::vector<std::string> names = {"localize", "map", "evaluate"};
  EXPECT_EQ(nearest_name("localise", names), "localize");
  EXPECT_EQ(nearest_name("mpa", names), "map");         // neighbours swapped: one slip
  EXPECT_EQ(nearest_name("mxy", names), std::nullopt);  // two edits of three letters
  EXPECT_EQ(nearest_name("maps", names), "map");
  EXPECT_EQ(nearest_name("evalaute", names), "evaluate");
  EXPECT_EQ(nearest_name("reconstruct", names), std::nullopt);
  EXPECT_EQ(nearest_name("map", {}), std::nullopt);
}

TEST(SplitBlanks, DropsEmptyPieces) {
  EXPECT_THAT(split_blanks("  a\tbb   c\r\n"), ElementsAre("a", "bb", "c"));
  EXPECT_THAT(split_blanks(" \t\r\n"), IsEmpty());
  EXPECT_THAT(split_blanks(""), IsEmpty());
  EXPECT_THAT(split_blanks("one"), ElementsAre("one"));
}

TEST(Trim, KeepsInnerBlanks) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \r\n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(ToLower, TouchesAsciiOnly) { EXPECT_EQ(to_lower("A\xc3\x84z-9"), "a\xc3\x84z-9"); }

TEST(ParseDouble, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_double("0.01"), 0.01);
  EXPECT_EQ(parse_double("-1e3"), -1000);
  EXPECT_EQ(parse_double("+2.5"), 2.5);
  EXPECT_EQ(parse_double(".5"), 0.5);
  EXPECT_EQ(parse_double("9007199254740993e0"), 9007199254740992.0);
  for (const char* wrong : {"", "+", "-", "0,01", "1.0x", " 1", "1 ", "1.2.3", "0x10", "1e999",
                            "+-1", "++1", "--1", "e5", ".", "nan", "inf", "-infinity"}) {
    EXPECT_EQ(parse_double(wrong), std::nullopt) << '"' << wrong << '"';
  }
}

TEST(ParseDouble, DoesNotFollowTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* comma : {"de_DE.UTF-8", "fr_FR.UTF-8"}) std::setlocale(LC_ALL, comma);
  EXPECT_EQ(parse_double("0.25"), 0.25);
  EXPECT_EQ(parse_double("0,25"), std::nullopt);
  std::setlocale(LC_ALL, before.c_str());
}

TEST(ParseInteger, RefusesWhatDoesNotFit) {
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807LL);
  for (const char* wrong : {"", "9223372036854775808", "1.0", "1e3", "0x1", "+-3", "12a", "- 1"}) {
    EXPECT_EQ(parse_integer(wrong), std::nullopt) << '"' << wrong << '"';
  }
}

}  // namespace
}  // namespace skyfix
