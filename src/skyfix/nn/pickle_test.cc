#include "skyfix/nn/pickle.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/nn/testing_archive.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

using testing::as_bytes;
using ::testing::HasSubstr;
using testing::PickleWriter;
using testing::refusal;
using Kind = PickleValue::Kind;
using namespace std::string_literals;

const std::string kFile = "a.pkl";

struct Read {
  explicit Read(std::string pickle, std::size_t most = 1000)
      : bytes(std::move(pickle)), pickle(as_bytes(bytes), kFile, most) {}
  std::string bytes;
  Pickle pickle;
  PickleValue& top() const { return pickle.top(); }
};

std::string refused(const std::string& pickle, std::size_t most = 1000) {
  return refusal([&] { Read read(pickle, most); });
}

TEST(Pickle, ReadsScalars) {
  const auto integer = [](const std::string& opcodes) {
    const Read read("\x80\x02" + opcodes + ".");
    EXPECT_EQ(read.top().kind, Kind::integer) << opcodes;
    return read.top().integer;
  };
  EXPECT_EQ(integer("K\xff"), 255);
  EXPECT_EQ(integer("M\xff\xff"), 65535);
  EXPECT_EQ(integer("J\xfe\xff\xff\xff"), -2);
  EXPECT_EQ(integer("\x8a\x00"s), 0);
  EXPECT_EQ(integer("\x8a\x02\x00\x80"s), -32768);
  EXPECT_EQ(integer("\x8a\x03\x00\x80\x00"s), 32768);
  EXPECT_EQ(integer("\x8a\x08"s + testing::little<std::int64_t>(INT64_MIN)), INT64_MIN);
  EXPECT_EQ(Read("\x8a\x09"s + std::string(9, '\1') + ".").top().kind, Kind::opaque);
  EXPECT_EQ(Read("G\x3f\xf8\0\0\0\0\0\0."s).top().real, 1.5);
  EXPECT_EQ(Read("N.").top().kind, Kind::none);
  EXPECT_EQ(Read("\x88.").top().integer, 1);
  EXPECT_EQ(Read("\x89.").top().kind, Kind::boolean);
  EXPECT_EQ(Read("\x8c\x03"s + "abc.").top().text, "abc");
  EXPECT_EQ(Read(PickleWriter().text("name").stop()).top().text, "name");
}

TEST(Pickle, ReadsContainersAndTheMemo) {
  // {"a": (1, 2), "b": [that tuple, that tuple]}
  const Read read("}(X\1\0\0\0aK\1K\2\x86q\5X\1\0\0\0b](h\5j\5\0\0\0eu."s);
  ASSERT_EQ(read.top().kind, Kind::dictionary);
  const PickleValue* tuple = pickle_entry(read.top(), "a");
  const PickleValue* list = pickle_entry(read.top(), "b");
  ASSERT_TRUE(tuple != nullptr && list != nullptr);
  EXPECT_EQ(tuple->items.at(1)->integer, 2);
  EXPECT_EQ(list->items.at(0), tuple);
  EXPECT_EQ(list->items.at(1), tuple);
  EXPECT_EQ(pickle_entry(read.top(), "c"), nullptr);
}

TEST(Pickle, ACycleIsReadAndFreed) {
  const Read read("]q\0h\0a."s);
  EXPECT_EQ(read.top().items.at(0), &read.top());
}

TEST(Pickle, NothingIsCalled) {
  const Read read(PickleWriter().global("posix", "system").text("touch owned").add("\x85R").stop());
  EXPECT_EQ(read.top().kind, Kind::object);
  EXPECT_EQ(read.top().text, "posix.system");
  EXPECT_EQ(read.top().items.at(0)->items.at(0)->text, "touch owned");
}

TEST(Pickle, RefusesOtherOpcodesByNumber) {
  EXPECT_THAT(refused("i"), HasSubstr("the opcode 105"));     // INST
  EXPECT_THAT(refused("0"), HasSubstr("the opcode 48"));      // POP
  EXPECT_THAT(refused("\x95"), HasSubstr("the opcode 149"));  // FRAME
  EXPECT_THAT(refused("\x80\x04N."), HasSubstr("newer protocol"));
}

TEST(Pickle, RefusesWhatDoesNotFit) {
  for (const char* pickle : {".", "NN.", "(N.", "q", "t", "e", "\x86.", "R", "Nb.", "a", "Na.",
                             "](Ns.", "}(Nu.", "N(b.", "NNR.", "}NNNa.", "]NNs.", "N.N"}) {
    EXPECT_FALSE(refused(pickle).empty()) << pickle;
  }
  EXPECT_THAT(refused("h\1."), HasSubstr("not there"));
  EXPECT_THAT(refused("(q\1."), HasSubstr("not there"));  // the mark is no value
}

TEST(Pickle, IsRefusedWhereverItIsCut) {
  const std::string pickle =
      PickleWriter().add("}(").text("a").tensor("FloatStorage", "0", 6, {2, 3}).add("u").stop();
  Read(std::string(pickle), 1000);
  for (std::size_t cut = 0; cut < pickle.size(); ++cut) {
    EXPECT_FALSE(refused(pickle.substr(0, cut)).empty()) << cut;
  }
}

TEST(Pickle, BoundsValuesMarksAndTheStack) {
  EXPECT_THAT(refused(std::string(1001, ']') + "."), HasSubstr("more values"));
  EXPECT_THAT(refused(std::string(1001, '(') + "."), HasSubstr("more values"));
  std::string recalls = "]q\1";
  for (int i = 0; i < 1001; ++i) recalls += "h\1";
  EXPECT_THAT(refused(recalls + "."), HasSubstr("more values"));
  std::string memos = "]";
  for (std::uint32_t i = 0; i < 1001; ++i) memos += "r" + testing::little(i);
  EXPECT_THAT(refused(memos + "."), HasSubstr("more values"));
}

TEST(Pickle, NestingCostsNoStack) {
  const std::size_t depth = 500'000;
  const Read read(")" + std::string(depth, '\x85') + ".", 2 * depth);
  EXPECT_EQ(read.top().items.size(), 1u);
}

}  // namespace
}  // namespace skyfix
