#include "skyfix/nn/torch_archive.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/testing_archive.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_torch_file;
using testing::make_zip;
using testing::PickleWriter;
using testing::refusal;

using Storages = std::map<std::string, std::string>;
const Storages kSix{{"0", testing::raw<float>({0, 1, 2, 3, 4, 5})}};

std::shared_ptr<const TensorSource> open(const std::string& file,
                                         const TensorFileLimits& limits = {}) {
  return open_tensor_bytes(as_bytes(file), "a.pth", {}, limits);
}

std::string refused(const std::string& pickle, const Storages& storages = kSix) {
  return refusal([&] { open(make_torch_file(pickle, storages)); });
}

template <class Number>
std::vector<Number> values(const StoredTensor* tensor) {
  if (tensor == nullptr) return {};
  std::vector<Number> numbers(tensor->bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), tensor->bytes.data(), tensor->bytes.size());
  return numbers;
}

// {"t": a tensor of these arguments}
template <class... Arguments>
std::string one_tensor(Arguments&&... arguments) {
  return PickleWriter().add("}(").text("t").tensor(arguments...).add("u").stop();
}

TEST(TorchArchive, ReadsTensorsWhereTheyLieAndAliases) {
  const std::string file = make_torch_file(PickleWriter()
                                               .add("}(")
                                               .text("whole")
                                               .tensor("FloatStorage", "0", 6, {2, 3})
                                               .text("part")
                                               .tensor("FloatStorage", "0", 6, {2}, {1}, 3)
                                               .text("scalar")
                                               .tensor("FloatStorage", "0", 6, {}, {}, 5)
                                               .text("none")
                                               .tensor("FloatStorage", "0", 6, {0, 4})
                                               .add("u")
                                               .stop(),
                                           kSix);
  const auto source = open(file);
  EXPECT_THAT(source->names(), ElementsAre("none", "part", "scalar", "whole"));
  EXPECT_THAT(values<float>(source->find("whole")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(source->find("whole")->shape, ElementsAre(2, 3));
  EXPECT_THAT(values<float>(source->find("part")), ElementsAre(3, 4));
  EXPECT_THAT(values<float>(source->find("scalar")), ElementsAre(5));
  EXPECT_THAT(source->find("none")->bytes, ::testing::IsEmpty());
  // One storage, not copied.
  EXPECT_EQ(source->find("part")->bytes.data(), source->find("whole")->bytes.data() + 12);
  EXPECT_EQ(text_of(source->find("whole")->bytes).data(), file.data() + file.find(kSix.at("0")));
}

TEST(TorchArchive, MakesOtherStridesContiguous) {
  const auto read = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                       std::int64_t offset) {
    const std::string file =
        make_torch_file(one_tensor("FloatStorage", "0", 6, shape, strides, offset), kSix);
    return values<float>(open(file)->find("t"));
  };
  EXPECT_THAT(read({3, 2}, {1, 3}, 0), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(read({2, 2}, {3, 2}, 0), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(read({1, 2, 1, 3}, {77, 1, 99, 2}, 0), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(read({3, 2}, {0, 1}, 4), ElementsAre(4, 5, 4, 5, 4, 5));
  // Strides of axes of size 1 mean nothing.
  EXPECT_THAT(read({1, 3}, {1000, 1}, 2), ElementsAre(2, 3, 4));
}

TEST(TorchArchive, ReadsEveryTypeOfStorage) {
  const std::pair<const char*, ElementType> types[] = {
      {"HalfStorage", ElementType::f16},    {"BFloat16Storage", ElementType::bf16},
      {"DoubleStorage", ElementType::f64},  {"LongStorage", ElementType::i64},
      {"IntStorage", ElementType::i32},     {"ShortStorage", ElementType::i16},
      {"CharStorage", ElementType::i8},     {"ByteStorage", ElementType::u8},
      {"BoolStorage", ElementType::boolean}};
  for (const auto& [name, type] : types) {
    const std::string file = make_torch_file(
        one_tensor(name, "0", 3, std::vector<std::int64_t>{3}),
        {{"0", std::string(static_cast<std::size_t>(3 * element_bytes(type)), '\1')}});
    const auto source = open(file);
    EXPECT_EQ(source->find("t")->type, type) << name;
    EXPECT_EQ(source->find("t")->elements(), 3) << name;
  }
  EXPECT_THAT(
      refused(one_tensor("BoolStorage", "0", 1, std::vector<std::int64_t>{1}), {{"0", "\2"}}),
      HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(refused(one_tensor("QInt8Storage", "0", 6, std::vector<std::int64_t>{6})),
              HasSubstr("torch.QInt8Storage"));
}

TEST(TorchArchive, ReadsDeflatedMembersAndParameters) {
  const std::string pickle = PickleWriter()
                                 .add("}(")
                                 .text("t")
                                 .global("torch._utils", "_rebuild_parameter")
                                 .add("(")
                                 .tensor("FloatStorage", "0", 6, {6})
                                 .add("\x88")
                                 .global("collections", "OrderedDict")
                                 .add(")RtRu")
                                 .stop();
  EXPECT_THAT(values<float>(open(make_torch_file(pickle, kSix))->find("t")),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values<float>(open(make_torch_file(pickle, kSix, /*deflate=*/true))->find("t")),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

// A training checkpoint: {"args": Namespace(model=..., other=...), KEY: {...}, "model": {...}}.
PickleWriter checkpoint_with(const std::string& key, const PickleWriter& value) {
  PickleWriter pickle;
  pickle.add("}(").text("args").global("argparse", "Namespace").add(")\x81}(");
  pickle.text("model").text("Net(width=3)").text("path").global("pathlib", "PosixPath");
  pickle.text("x").add("\x85Rub").text(key).add(value.bytes.substr(2));
  pickle.text("model").global("collections", "OrderedDict").add(")R(").text("t");
  pickle.tensor("FloatStorage", "0", 6, {6}).add("u}").text("_metadata");
  return pickle.global("collections", "OrderedDict").add(")Rsbu");
}

TEST(TorchArchive, ReadsTheModelOfATrainingCheckpoint) {
  const PickleWriter scalar =
      PickleWriter().global("numpy.core.multiarray", "scalar").integer(3).add("\x85R");
  const std::string file = make_torch_file(checkpoint_with("optimizer", scalar).stop(), kSix);
  const auto source = open(file);
  EXPECT_THAT(source->names(), ElementsAre("t"));
  EXPECT_EQ(source->metadata().at("args.model"), "Net(width=3)");
  // The same object under a key that is needed is refused.
  EXPECT_THAT(refused(checkpoint_with("extra", scalar).stop()),
              HasSubstr("numpy.core.multiarray.scalar"));
}

TEST(TorchArchive, RefusesForeignGlobalsByNameWhereverTheyAre) {
  const PickleWriter call =
      PickleWriter().global("posix", "system").text("touch owned").add("\x85R");
  const std::string opcodes = call.bytes.substr(2);
  const std::string tensor = PickleWriter().tensor("FloatStorage", "0", 6, {6}).bytes.substr(2);
  const PickleWriter hidden[] = {
      call,
      PickleWriter().add("}(").text("t").add(opcodes + "u"),
      PickleWriter().add("}(" + opcodes + tensor + "u"),
      PickleWriter().add("}(").text("t").add(tensor).text("u").add("]" + opcodes + "au"),
      PickleWriter().add("}(").text("t").add(tensor + "u}").text("_metadata").add(opcodes + "sb"),
      PickleWriter().add("}(").text("t").global("posix", "system").add("u"),
      PickleWriter().global("collections", "OrderedDict").add("(" + opcodes + "tR"),
      PickleWriter()
          .add("}(")
          .text("t")
          .global("torch._utils", "_rebuild_tensor_v2")
          .add("(" + opcodes + "tRu"),
  };
  for (const PickleWriter& pickle : hidden) {
    const std::string message = refused(pickle.stop());
    EXPECT_TRUE(message.find("posix.system") != std::string::npos ||
                message.find("collections.OrderedDict") != std::string::npos)
        << message;
    EXPECT_THAT(message, HasSubstr("nothing was executed"));
  }
  EXPECT_THAT(refused(PickleWriter().global("__builtin__", "eval\x1b").add(")R").stop()),
              HasSubstr("__builtin__.eval?"));
}

TEST(TorchArchive, RefusesTensorsThatDoNotFitTheirStorage) {
  using Numbers = std::vector<std::int64_t>;
  const std::int64_t huge = std::int64_t(1) << 62;
  const std::string pickles[] = {
      one_tensor("FloatStorage", "0", 6, Numbers{7}),
      one_tensor("FloatStorage", "0", 6, Numbers{2, 3}, Numbers{3, 2}),
      one_tensor("FloatStorage", "0", 6, Numbers{2}, Numbers{1}, std::int64_t(5)),
      one_tensor("FloatStorage", "0", 6, Numbers{2}, Numbers{1}, std::int64_t(-1)),
      one_tensor("FloatStorage", "0", 6, Numbers{1}, Numbers{1}, std::int64_t(7)),
      one_tensor("FloatStorage", "0", 6, Numbers{-1}, Numbers{1}),
      one_tensor("FloatStorage", "0", 6, Numbers{2}, Numbers{-1}, std::int64_t(1)),
      one_tensor("FloatStorage", "0", 6, Numbers{2, 3}, Numbers{1}),
      one_tensor("FloatStorage", "0", 6, Numbers{huge, 8}, Numbers{0, 0}),
      one_tensor("FloatStorage", "0", 6, Numbers{3, 3}, Numbers{huge, huge}),
      one_tensor("FloatStorage", "0", 6, Numbers(17, 1)),
      one_tensor("FloatStorage", "0", 7, Numbers{6}),
      one_tensor("FloatStorage", "0", 5, Numbers{5}),
      one_tensor("FloatStorage", "0", -6, Numbers{6}),
      one_tensor("FloatStorage", "0", huge, Numbers{6}),
      one_tensor("DoubleStorage", "0", 6, Numbers{6}),
      one_tensor("FloatStorage", "1", 6, Numbers{6}),
      one_tensor("FloatStorage", "../byteorder", 6, Numbers{6}),
  };
  for (const std::string& pickle : pickles) {
    EXPECT_THAT(refused(pickle), HasSubstr("tensor t")) << &pickle - pickles;
  }
  // An expanded scalar: a bomb.
  EXPECT_THAT(refused(one_tensor("FloatStorage", "0", 6, Numbers{100'000'000}, Numbers{0})),
              HasSubstr("larger than the file"));
}

TEST(TorchArchive, RefusesWhatIsNoDictionaryOfTensors) {
  EXPECT_THAT(refused(PickleWriter().add("]").stop()), HasSubstr("no dictionary"));
  EXPECT_THAT(refused(PickleWriter().add("}").stop()), HasSubstr("no tensors"));
  EXPECT_THAT(refused(PickleWriter().add("}").text("a").add("Ns").stop()),
              HasSubstr("entry a is no tensor"));
  EXPECT_THAT(
      refused(
          PickleWriter().add("}").integer(3).tensor("FloatStorage", "0", 6, {6}).add("s").stop()),
      HasSubstr("name is no text"));
  PickleWriter twice;
  twice.add("}(").text("t").tensor("FloatStorage", "0", 6, {6});
  twice.text("t").tensor("FloatStorage", "0", 6, {6}).add("u");
  EXPECT_THAT(refused(twice.stop()), HasSubstr("twice"));
}

TEST(TorchArchive, RefusesBigEndianTwoPicklesAndTooMuch) {
  const std::string pickle = one_tensor("FloatStorage", "0", 6, std::vector<std::int64_t>{6});
  EXPECT_THAT(refusal([&] {
                open(make_zip(
                    {{"a/data.pkl", pickle}, {"a/byteorder", "big"}, {"a/data/0", kSix.at("0")}}));
              }),
              HasSubstr("little-endian"));
  EXPECT_THAT(refusal([&] {
                open(make_zip({{"a/data.pkl", pickle}, {"b/data.pkl", pickle}}));
              }),
              HasSubstr("without weights"));
  TensorFileLimits limits;
  limits.pickle_bytes = pickle.size() - 1;
  EXPECT_THAT(refusal([&] { open(make_torch_file(pickle, kSix), limits); }),
              HasSubstr("pickle is too large"));
  limits = {};
  limits.tensors = 0;
  EXPECT_FALSE(refusal([&] { open(make_torch_file(pickle, kSix), limits); }).empty());
}

}  // namespace
}  // namespace skyfix
