#include "skyfix/localize/networks.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/models/testing_folder.h"
#include "skyfix/models/testing_weights.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::refusal;

class NetworksTest : public testing::FolderTest {
 protected:
  NetworkOptions options(const std::vector<std::string>& weights) const {
    return {.weights = weights, .weights_dir = {}, .placement = {}};
  }
  std::string file(const std::string& name, const std::string& content) const {
    write_file_atomic(folder_ / name, content);
    return (folder_ / name).string();
  }
};

TEST_F(NetworksTest, SyntheticIsForAllAndEachIsMadeOnce) {
  Networks networks(options({"synthetic"}));
  for (const char* model : {"xfeat", "lighterglue", "aliked-n16rot", "mast3r"}) {
    EXPECT_TRUE(networks.available(model)) << model;
  }
  EXPECT_EQ(networks.available_dinov3(), "dinov3-vitl16") << "the usual one";
  const auto xfeat = networks.local("xfeat");
  EXPECT_EQ(xfeat->kind(), "xfeat");
  EXPECT_EQ(networks.local("xfeat"), xfeat);
  const auto matcher = networks.lightglue("xfeat");
  EXPECT_EQ(networks.lightglue("xfeat"), matcher);
  EXPECT_EQ(matcher->config().width, 96);
  EXPECT_THAT(networks.opened(),
              ElementsAre(Pair("lighterglue", "synthetic"), Pair("xfeat", "synthetic")));
}

TEST_F(NetworksTest, MissingWeightsSayWhereTheyAreToBeHad) {
  Networks networks(options({}));
  EXPECT_FALSE(networks.available("xfeat"));
  EXPECT_EQ(networks.available_dinov3(), "");
  EXPECT_THAT(refusal(Reason::missing_weights, [&] { networks.local("xfeat"); }),
              AllOf(HasSubstr("skyfix models fetch xfeat"), HasSubstr("Apache-2.0")));
  EXPECT_THAT(refusal(Reason::missing_weights, [&] { networks.mast3r(); }),
              HasSubstr("CC BY-NC-SA 4.0"));
  EXPECT_TRUE(networks.opened().empty());
}

TEST_F(NetworksTest, FilesAreTakenForTheNetworkTheirTensorsTell) {
  const std::string given = file("w.pt", testing::small_xfeat());
  Networks networks(options({given}));
  EXPECT_TRUE(networks.available("xfeat"));
  EXPECT_FALSE(networks.available("aliked-n16rot"));
  // It looks like XFeat and lacks most of it.
  EXPECT_THAT(refusal(Reason::bad_weights, [&] { networks.local("xfeat"); }), HasSubstr("block1"));
}

TEST_F(NetworksTest, AFileMayBeNamedForAModel) {
  const std::string given = file("w.pt", testing::small_xfeat());
  Networks networks(options({"aliked-n16rot=" + given}));
  EXPECT_FALSE(networks.available("xfeat"));
  EXPECT_TRUE(networks.available("aliked-n16rot"));
  refusal(Reason::bad_weights, [&] { networks.local("aliked"); });
  Networks gone(options({"xfeat=" + (folder_ / "gone").string()}));
  refusal(Reason::unreadable_file, [&] { gone.local("xfeat"); });
}

TEST_F(NetworksTest, WhatIsNoNetworkIsRefused) {
  const std::string text = file("w.txt", "not weights");
  refusal(Reason::bad_weights, [&] { Networks networks(options({text})); });
  refusal(Reason::unreadable_file,
          [&] { Networks networks(options({(folder_ / "gone").string()})); });
  EXPECT_THAT(refusal(Reason::bad_option, [&] { Networks networks(options({"xfaet=" + text})); }),
              HasSubstr("did you mean xfeat?"));
  Networks networks(options({"synthetic"}));
  EXPECT_THAT(refusal(Reason::bad_option, [&] { networks.local("orb"); }), HasSubstr("aliked"));
}

TEST_F(NetworksTest, TheLargestDinoV3IsTaken) {
  file("dinov3_vits16_pretrain_lvd1689m-x.pth", "x");
  Networks networks({.weights = {}, .weights_dir = folder_, .placement = {}});
  EXPECT_EQ(networks.available_dinov3(), "dinov3-vits16");
  file("dinov3_vitb16_pretrain_lvd1689m-x.pth", "x");
  EXPECT_EQ(networks.available_dinov3(), "dinov3-vitb16");
}

}  // namespace
}  // namespace skyfix
