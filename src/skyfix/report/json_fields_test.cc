#include "skyfix/report/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyfix {
namespace {

using ::testing::HasSubstr;

const JsonSource kSource{Reason::bad_reference, "some.json"};

std::string problem_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_reference);
    EXPECT_EQ(error.file(), "some.json");
    return error.message();
  }
  return "no error";
}

TEST(JsonFields, ReadsTypedFields) {
  const Json json =
      parse_json(R"({"a":{"n":1.5,"i":-3,"t":"x","b":true,"v":[1,2,3]},"z":null})", kSource, "top");
  const JsonFields top(json, kSource, "top");
  const JsonFields a = top.object("a");
  EXPECT_EQ(a.number("n"), 1.5);
  EXPECT_EQ(a.number("i"), -3);
  EXPECT_EQ(a.integer("i", -5, 5), -3);
  EXPECT_EQ(a.text("t"), "x");
  EXPECT_TRUE(a.boolean("b"));
  EXPECT_EQ(a.vector3("v"), Eigen::Vector3d(1, 2, 3));
  EXPECT_TRUE(top.has("a"));
  EXPECT_FALSE(top.has("z"));
  EXPECT_FALSE(top.has("missing"));
}

TEST(JsonFields, NamesThePlaceOfAFault) {
  const Json json =
      parse_json(R"({"a":{"n":"1","i":1.5,"big":18446744073709551615,"v":[1,2],"w":[1,2,null]}})",
                 kSource, "top");
  const JsonFields a = JsonFields(json, kSource, "top").object("a");
  EXPECT_THAT(problem_of([&] { a.number("n"); }), HasSubstr("top.a: \"n\" must be a finite"));
  EXPECT_THAT(problem_of([&] { a.number("none"); }), HasSubstr("\"none\" is missing"));
  EXPECT_THAT(problem_of([&] { a.integer("i", 0, 9); }), HasSubstr("integer"));
  EXPECT_THAT(problem_of([&] { a.integer("big", 0, INT64_MAX); }), HasSubstr("between"));
  EXPECT_THAT(problem_of([&] { a.numbers("v", 3); }), HasSubstr("list of 3"));
  EXPECT_THAT(problem_of([&] { a.vector3("w"); }), HasSubstr("list of 3"));
  EXPECT_THAT(problem_of([&] { a.object("n"); }), HasSubstr("must be a JSON object"));
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  EXPECT_THAT(problem_of([] { parse_json("", kSource, "line 1"); }), HasSubstr("line 1"));
  EXPECT_THAT(problem_of([] { parse_json("{\"a\":1e999}", kSource, "x"); }), HasSubstr("not JSON"));
  EXPECT_THAT(problem_of([] { parse_json("{\"a\":NaN}", kSource, "x"); }), HasSubstr("not JSON"));
  EXPECT_THAT(problem_of([] { parse_json("\"\xFF\"", kSource, "x"); }), HasSubstr("not JSON"));
  EXPECT_THAT(problem_of([] { parse_json(std::string(1000000, '['), kSource, "x"); }),
              HasSubstr("nested too deeply"));
  EXPECT_NO_THROW(parse_json("\"" + std::string(100, '[') + "\"", kSource, "x"));
}

}  // namespace
}  // namespace skyfix
