#include "skyfix/nn/tensor_file.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/testing_archive.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::as_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_torch_file;
using testing::make_zip;
using testing::PickleWriter;
using testing::refusal;

const fs::path kShared = SKYFIX_SHARED_DIR;

bool missing(const fs::path& file) {
  if (fs::exists(file)) return false;
  if (std::getenv("CI") != nullptr) ADD_FAILURE() << file << " is missing";
  return true;
}

std::string safetensors_file() {
  const std::string header = R"({"t":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  return testing::little<std::uint64_t>(header.size()) + header + "abc";
}

std::string torch_file() {
  return make_torch_file(
      PickleWriter().add("}").text("t").tensor("ByteStorage", "0", 3, {3}).add("s").stop(),
      {{"0", "abc"}});
}

std::string text_at(const TensorSource& source, std::string_view name) {
  const StoredTensor* tensor = source.find(name);
  return tensor == nullptr ? "none" : std::string(text_of(tensor->bytes));
}

TEST(TensorFile, TellsKindsByContentAndHashesWhatWasRead) {
  for (const std::string& file : {safetensors_file(), torch_file()}) {
    const auto plain = open_tensor_bytes(as_bytes(file), "file");
    EXPECT_EQ(text_at(*plain, "t"), "abc");
    EXPECT_EQ(plain->hash(), sha256_hex(file));
    EXPECT_EQ(plain->description(), "file");
    for (const bool deflate : {false, true}) {
      const std::string wheel =
          make_zip({{"p/a.py", "print()"}, {"p/w/x.pt", file, deflate}, {"p/y.pt", "other"}});
      const auto carried = open_tensor_bytes(as_bytes(wheel), "a.whl", "p/w/x.pt");
      EXPECT_EQ(text_at(*carried, "t"), "abc");
      EXPECT_EQ(carried->hash(), sha256_hex(file));
      EXPECT_EQ(carried->description(), "a.whl (p/w/x.pt)");
    }
  }
}

TEST(TensorFile, AFileStaysMappedAsLongAsItsTensors) {
  const fs::path file =
      fs::path(::testing::TempDir()) / ("skyfix_tensors_" + std::to_string(::getpid()));
  write_file_atomic(file, make_zip({{"x.pt", torch_file(), true}}));
  const auto source = open_tensor_file(file);
  fs::remove(file);
  EXPECT_EQ(text_at(*source, "t"), "abc");
  EXPECT_THROW(open_tensor_file(file), Error);
}

TEST(TensorFile, SaysWhatAWheelHolds) {
  const std::string two = make_zip({{"a.pt", torch_file()}, {"b.safetensors", "x"}});
  EXPECT_THAT(refusal([&] { open_tensor_bytes(as_bytes(two), "a.whl", "c.pt"); }),
              AllOf(HasSubstr("does not hold c.pt"), HasSubstr("a.pt, b.safetensors")));
  EXPECT_THAT(refusal([&] { open_tensor_bytes(as_bytes(two), "a.whl"); }),
              HasSubstr("name the model that is meant. It holds a.pt, b.safetensors"));
  const std::string none = make_zip({{"a.py", "print()"}});
  EXPECT_THAT(refusal([&] { open_tensor_bytes(as_bytes(none), "a.whl"); }),
              HasSubstr("without weights"));
  const std::string nested = make_zip({{"a.pt", make_zip({{"b.pt", torch_file()}})}});
  EXPECT_THAT(refusal([&] { open_tensor_bytes(as_bytes(nested), "a.whl"); }),
              HasSubstr("inside an archive"));
  EXPECT_THAT(refusal([&] { open_tensor_bytes(as_bytes(two), "a.whl", "b.safetensors"); }),
              HasSubstr("neither"));
}

TEST(TensorFile, SaysWhatAFileIsInstead) {
  const auto refused = [](const std::string& file) {
    return refusal([&] { open_tensor_bytes(as_bytes(file), "file"); });
  };
  EXPECT_THAT(refused(""), HasSubstr("this file is empty"));
  EXPECT_THAT(refused("words"), HasSubstr("neither"));
  EXPECT_THAT(refused("\x80\x02\x8a\nl\xfc"), HasSubstr("before version 1.6"));
  EXPECT_THAT(refused("version https://git-lfs.github.com/spec/v1"), HasSubstr("git lfs pull"));
  EXPECT_THAT(refused("\n <!DOCTYPE html>"), HasSubstr("web page"));
}

TEST(TensorFile, IsRefusedWhereverItIsCut) {
  const std::string wheel = make_zip({{"x.pt", torch_file(), true}});
  for (const std::string& file : {torch_file(), wheel}) {
    for (std::size_t cut = 0; cut < file.size(); ++cut) {
      EXPECT_FALSE(refusal([&] {
                     open_tensor_bytes(as_bytes({file.data(), cut}), "file");
                   }).empty())
          << cut;
    }
  }
}

TEST(TensorFile, ReadsTheGoldenCheckpointToTheByte) {
  const fs::path folder = kShared / "goldens" / "mast3r";
  if (missing(folder / "fake_checkpoint.pth")) GTEST_SKIP() << "no goldens";
  const auto source = open_tensor_file(folder / "fake_checkpoint.pth");
  const auto golden = nlohmann::json::parse(read_file(folder / "fake_checkpoint.json"));
  EXPECT_EQ(source->metadata().at("args.model"), golden.at("model_string"));
  EXPECT_EQ(source->names().size(), golden.at("tensors").size());
  for (const auto& [name, expected] : golden.at("tensors").items()) {
    const StoredTensor* tensor = source->find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(nlohmann::json(tensor->shape), expected.at("shape")) << name;
    EXPECT_EQ(sha256_hex(text_of(tensor->bytes)), expected.at("sha256")) << name;
  }
}

TEST(TensorFile, ReadsEverySafetensorsGolden) {
  int files = 0;
  if (missing(kShared / "goldens")) GTEST_SKIP() << "no goldens";
  for (const auto& entry : fs::recursive_directory_iterator(kShared / "goldens")) {
    if (entry.path().extension() != ".safetensors") continue;
    EXPECT_FALSE(open_tensor_file(entry.path())->names().empty()) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 20);
}

}  // namespace
}  // namespace skyfix
