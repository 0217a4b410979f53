#include "skyfix/nn/tensor_source.h"

#include <gmock/gmock.h>

#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {

using ::testing::ElementsAre;
using testing::MemoryTensors;

std::shared_ptr<MemoryTensors> three() {
  auto source = std::make_shared<MemoryTensors>();
  source->add("net.a", {2}, {1, 2});
  source->add("net.b", {1, 1}, {3});
  source->add("other", {}, {4});
  return source;
}

TEST(TensorSource, TypesHaveTheirNamesAndSizes) {
  EXPECT_EQ(element_type_name(ElementType::bf16), "BF16");
  EXPECT_EQ(element_type_name(ElementType::boolean), "BOOL");
  EXPECT_EQ(element_bytes(ElementType::f64), 8);
  EXPECT_EQ(element_bytes(ElementType::f16), 2);
  EXPECT_EQ(element_bytes(ElementType::i8), 1);
}

TEST(TensorSource, ShapesAreCountedAndShown) {
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{3, 16, 16}), "[3, 16, 16]");
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(three()->find("net.a")->elements(), 2);
  EXPECT_EQ(three()->find("other")->elements(), 1);
}

TEST(TensorSource, RenamedTensorsAndAliasesLeadToTheOldOnes) {
  const auto source = three();
  const auto renamed =
      rename_tensors(source, {{"x", "net.a"}, {"y", "net.a"}, {"z", "is not there"}});
  EXPECT_THAT(renamed->names(), ElementsAre("x", "y"));
  EXPECT_EQ(renamed->find("x")->name, "x");
  EXPECT_EQ(renamed->find("y")->bytes.data(), source->find("net.a")->bytes.data());
  EXPECT_EQ(renamed->find("net.a"), nullptr);
  EXPECT_EQ(renamed->find("z"), nullptr);
  EXPECT_EQ(renamed->hash(), "hash");
  EXPECT_EQ(renamed->metadata().at("model"), "tiny");
  EXPECT_EQ(renamed->description(), "memory");
}

TEST(TensorSource, AnImportedFileIsKnownByWhatItWasMadeOf) {
  class Source : public TensorSource {
   public:
    explicit Source(std::map<std::string, std::string> metadata) : metadata_(std::move(metadata)) {}
    std::string description() const override { return "a test's"; }
    const StoredTensor* find(std::string_view) const override { return nullptr; }
    std::vector<std::string> names() const override { return {}; }
    const std::map<std::string, std::string>& metadata() const override { return metadata_; }
    std::string hash() const override { return "own"; }

   private:
    std::map<std::string, std::string> metadata_;
  };
  using Metadata = std::map<std::string, std::string>;
  EXPECT_EQ(weights_identity(Source(Metadata{})), "own");
  EXPECT_EQ(weights_identity(Source(Metadata{{"source_sha256", ""}})), "own");
  EXPECT_EQ(weights_identity(Source(Metadata{{"source_sha256", "published"}})), "published");
}

TEST(TensorSource, ThoseUnderAPrefixLoseItAndKeepTheSourceAlive) {
  auto under = tensors_under(three(), "net.");
  EXPECT_THAT(under->names(), ElementsAre("a", "b"));
  EXPECT_EQ(under->find("b")->elements(), 1);
  EXPECT_EQ(under->find("b")->bytes.size(), 4u);
  EXPECT_EQ(under->find("other"), nullptr);
  // A formula makes any name.
  EXPECT_TRUE(tensors_under(make_synthetic_source(), "net.")->synthetic());
}

}  // namespace
}  // namespace skyfix
