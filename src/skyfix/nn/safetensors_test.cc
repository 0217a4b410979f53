#include "skyfix/nn/safetensors.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/testing_archive.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using testing::as_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::little;
using ::testing::Pair;
using testing::raw;
using testing::refusal;

std::string file_of(const std::string& header, const std::string& data) {
  return little<std::uint64_t>(header.size()) + header + data;
}

TensorTable read(const std::string& file, const TensorFileLimits& limits = {}) {
  return read_safetensors(as_bytes(file), "a.safetensors", limits);
}

std::string refused(const std::string& header, const std::string& data = std::string(8, '\0')) {
  return refusal([&] { read(file_of(header, data)); });
}

constexpr const char* kTwo = R"({"__metadata__":{"format":"pt"},
  "a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},
  "b":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]}} )";

TEST(Safetensors, ReadsTensorsInPlaceAndMetadata) {
  const std::string file = file_of(kTwo, "abcd" + raw<float>({1.5f}));
  const TensorTable table = read(file);
  ASSERT_EQ(table.tensors.size(), 2u);
  EXPECT_THAT(table.metadata, ElementsAre(Pair("format", "pt")));
  const StoredTensor& b = table.tensors.at("b");
  EXPECT_EQ(b.type, ElementType::u8);
  EXPECT_THAT(b.shape, ElementsAre(2, 2));
  EXPECT_EQ(text_of(b.bytes), "abcd");
  EXPECT_EQ(text_of(b.bytes).data(), file.data() + file.size() - 8);
  EXPECT_EQ(text_of(table.tensors.at("a").bytes), raw<float>({1.5f}));
}

TEST(Safetensors, IsRefusedWhereverItIsCut) {
  const std::string file = file_of(kTwo, std::string(8, '\0'));
  read(file);
  for (std::size_t cut = 0; cut < file.size(); ++cut) {
    EXPECT_FALSE(refusal([&] { read(file.substr(0, cut)); }).empty()) << cut;
  }
  EXPECT_THAT(refusal([&] { read(file.substr(0, file.size() - 1)); }), HasSubstr("cut off"));
  EXPECT_THAT(refusal([&] { read(file + "x"); }), HasSubstr("behind the last tensor"));
}

TEST(Safetensors, RefusesHeadersOfAnotherForm) {
  for (const char* header :
       {"",
        "{",
        "[]",
        "null",
        "{}{}",
        R"({"a":1})",
        R"({"a":[]})",
        R"({"a":{}})",
        R"({"a":{"dtype":"U8","shape":[8]}})",
        R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0]}})",
        R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8,8]}})",
        R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[8,0]}})",
        R"({"a":{"dtype":"U8","shape":[8.0],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","shape":[-8],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","shape":["8"],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","shape":[[8]],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":["U8"],"shape":[8],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","shape":[8],"shape":[8],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"x":{}}})",
        R"({"__metadata__":{"a":1},"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
        R"({"__metadata__":{"a":{}},"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
        R"({"__metadata__":3,"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,18446744073709551615]}})",
        R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}},)"}) {
    EXPECT_FALSE(refused(header).empty()) << header;
  }
  EXPECT_THAT(refused(R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})"),
              HasSubstr("the type F8_E4M3"));
  EXPECT_THAT(
      refused(R"({"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}})", "\2\1\1\1\1\1\1\1"),
      HasSubstr("neither 0 nor 1"));
}

TEST(Safetensors, RefusesShapesThatContradictTheBytes) {
  for (const char* shape : {"[7]", "[9]", "[]", "[0]", "[8,0]", "[9223372036854775807,2]",
                            "[4294967296,4294967296]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,8]"}) {
    const std::string header =
        R"({"a":{"dtype":"U8","shape":)" + std::string(shape) + R"(,"data_offsets":[0,8]}})";
    EXPECT_FALSE(refused(header).empty()) << shape;
  }
  EXPECT_THAT(
      refused(R"({"a":{"dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8]}})"),
      HasSubstr("contradicts"));
}

TEST(Safetensors, RefusesOverlapsHolesAndTwins) {
  const auto two = [](const std::string& a, const std::string& b, const std::string& name) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a + R"(},")" + name +
           R"(":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  read(file_of(two("[4,8]", "[0,4]", "b"), std::string(8, '\0')));
  EXPECT_THAT(refused(two("[0,4]", "[3,7]", "b")), HasSubstr("overlap"));
  EXPECT_THAT(refused(two("[0,4]", "[0,4]", "b")), HasSubstr("overlap"));
  EXPECT_THAT(refused(two("[0,4]", "[5,9]", "b"), std::string(9, '\0')), HasSubstr("between"));
  EXPECT_THAT(refused(two("[0,4]", "[4,8]", "a")), HasSubstr("tensor a is there twice"));
}

TEST(Safetensors, BoundsTheHeader) {
  const std::string file = file_of(kTwo, std::string(8, '\0'));
  TensorFileLimits limits;
  limits.header_bytes = std::string(kTwo).size() - 1;
  EXPECT_THAT(refusal([&] { read(file, limits); }), HasSubstr("beyond the size limit"));
  limits = {};
  limits.tensors = 1;
  EXPECT_THAT(refusal([&] { read(file, limits); }), HasSubstr("more tensors"));
  // A length that wraps around, and nesting without end.
  EXPECT_FALSE(refusal([&] { read(std::string(8, '\xff') + "{"); }).empty());
  EXPECT_FALSE(refused(std::string(1'000'000, '[')).empty());
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += R"({"a":)";
  EXPECT_FALSE(refused(nested).empty());
}

TEST(Safetensors, WhatIsWrittenIsReadAlignedAndWithoutHoles) {
  const fs::path file = fs::path(::testing::TempDir()) /
                        ("skyfix_safetensors_" + std::to_string(::getpid()) + ".safetensors");
  const std::string three = "abc", numbers = raw<float>({1, 2}), wide = raw<double>({3});
  const std::vector<StoredTensor> tensors{
      {"bytes", ElementType::u8, {3}, as_bytes(three)},
      {"floats \"\xc3\xa9\"", ElementType::f32, {2, 1}, as_bytes(numbers)},
      {"none", ElementType::i64, {0, 3}, {}},
      {"wide", ElementType::f64, {}, as_bytes(wide)}};
  write_safetensors(file, tensors, {{"model", "x"}, {"licence", "y"}});
  const std::string content = read_file(file);
  fs::remove(file);
  const TensorTable table = read(content);
  EXPECT_THAT(table.metadata, ElementsAre(Pair("licence", "y"), Pair("model", "x")));
  ASSERT_EQ(table.tensors.size(), tensors.size());
  for (const StoredTensor& tensor : tensors) {
    const StoredTensor& again = table.tensors.at(tensor.name);
    EXPECT_EQ(again.type, tensor.type);
    EXPECT_EQ(again.shape, tensor.shape);
    EXPECT_EQ(text_of(again.bytes), text_of(tensor.bytes));
    const auto place = text_of(again.bytes).data() - content.data();
    EXPECT_TRUE(again.bytes.empty() || place % element_bytes(tensor.type) == 0) << tensor.name;
  }
  EXPECT_EQ((8 + *reinterpret_cast<const std::uint64_t*>(content.data())) % 64, 0u);
}

}  // namespace
}  // namespace skyfix
