#include "skyfix/models/mast3r/literal_text.h"

#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>

namespace skyfix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Literal text(const std::string& value) { return {value}; }
Literal number(double value) { return {value}; }

std::string error_of(const std::string& bad) {
  try {
    parse_literal_call(bad);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LiteralText, ReadsAConstructorCall) {
  const LiteralCall call = parse_literal_call(
      " AsymmetricMASt3R( pos_embed='RoPE100',img_size=(512, 512) , mode=('exp', -inf, inf), "
      "two=True, other=False, none=None, n=-3, x=1.5e2, empty=(), one=(1,)) ");
  EXPECT_EQ(call.name, "AsymmetricMASt3R");
  EXPECT_THAT(call.arguments,
              ElementsAre(Pair("empty", Literal{std::vector<Literal>{}}),
                          Pair("img_size", Literal{std::vector<Literal>{number(512), number(512)}}),
                          Pair("mode", Literal{std::vector<Literal>{text("exp"), number(-kInfinity),
                                                                    number(kInfinity)}}),
                          Pair("n", number(-3)), Pair("none", Literal{}),
                          Pair("one", Literal{std::vector<Literal>{number(1)}}),
                          Pair("other", Literal{false}), Pair("pos_embed", text("RoPE100")),
                          Pair("two", Literal{true}), Pair("x", number(150))));
}

TEST(LiteralText, ReadsAJsonObject) {
  const LiteralCall call = parse_literal_call(
      "{\n  \"depth_mode\": [\"exp\", -Infinity, Infinity],\n  \"two_confs\": true,\n"
      "  \"enc_depth\": 24,\n  \"freeze\": null\n}\n");
  EXPECT_EQ(call.name, "");
  EXPECT_EQ(call.arguments.at("enc_depth"), number(24));
  EXPECT_EQ(call.arguments.at("two_confs"), Literal{true});
  EXPECT_EQ(call.arguments.at("freeze"), Literal{});
  EXPECT_THAT(*call.arguments.at("depth_mode").tuple(),
              ElementsAre(text("exp"), number(-kInfinity), number(kInfinity)));
}

TEST(LiteralText, TakesNoArguments) {
  EXPECT_THAT(parse_literal_call("Name()").arguments, IsEmpty());
  EXPECT_THAT(parse_literal_call("{}").arguments, IsEmpty());
}

TEST(LiteralText, RefusesEverythingElse) {
  for (const std::string bad : {"",
                                "Name",
                                "Name(",
                                "Name(a)",
                                "Name(a=)",
                                "Name(a=1",
                                "Name(a=1))",
                                "Name(a=1 b=2)",
                                "Name(a='x)",
                                "Name(a='\\x41')",
                                "Name(a=os.system('x'))",
                                "Name(a=1+2)",
                                "Name(a=[1)",
                                "Name(a=nan)",
                                "Name(a=1e999)",
                                "Name(a=0x)",
                                "Name(a={'b': 1})",
                                "Name(a=1, a=2)",
                                "{\"a\" 1}",
                                "{a: 1}",
                                "(a=1)",
                                "Name(a=--1)"}) {
    EXPECT_THAT(error_of(bad), HasSubstr("expected")) << bad;
  }
}

TEST(LiteralText, SaysWhere) { EXPECT_THAT(error_of("Name(a=?)"), HasSubstr("byte 7")); }

TEST(LiteralText, RefusesDepthWithoutEnd) {
  EXPECT_THAT(error_of("Name(a=" + std::string(100'000, '(')), HasSubstr("fewer brackets"));
}

}  // namespace
}  // namespace skyfix
