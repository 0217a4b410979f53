#include "skyfix/localize/methods.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/localize/world_testing.h"
#include "skyfix/map/map_extension.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::refusal;

// A copy of the small world's map with kinds that hold nothing.
class Methods : public ::testing::Test {
 protected:
  Methods()
      : folder_(SmallWorld::instance().folder() /
                (std::string("methods_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::copy(SmallWorld::instance().map().folder(), folder_, fs::copy_options::recursive);
  }
  Map with(const std::vector<std::string>& features, const std::vector<std::string>& places) {
    const Map map = Map::open(folder_);
    MapExtension extension(map);
    const std::size_t images = map.image_count();
    for (const std::string& kind : features) {
      extension.add_features(kind, 2, std::vector<MapWriter::ImageFeatures>(images));
    }
    for (const std::string& kind : places) {
      PlaceTable table{1, 2, {1, 0}, {}};
      for (std::size_t i = 0; i < images; ++i) {
        table.descriptors.insert(table.descriptors.end(), {0, 1});
      }
      extension.add_places(kind, table);
    }
    extension.write();
    return Map::open(folder_);
  }
  static ChosenMethods choose(const Map& map, const std::string& matcher,
                              const std::string& retriever, const Networks& networks) {
    MethodOptions options;
    options.matcher = matcher;
    options.retriever = retriever;
    return choose_methods(map, options, networks);
  }

  fs::path folder_;
  fs::path nowhere_ = SmallWorld::instance().folder();  // holds no weights
  Networks synthetic_{{.weights = {"synthetic"}, .weights_dir = {}, .placement = {}}};
};

TEST_F(Methods, AutoTakesSiftThenWhatThereIs) {
  const Map& sift = SmallWorld::instance().map();
  EXPECT_EQ(choose(sift, "auto", "auto", synthetic_).matcher, "sift");
  EXPECT_EQ(choose(sift, "auto", "auto", synthetic_).features, "sift");
  EXPECT_EQ(choose(sift, "auto", "auto", synthetic_).places, "vlad-sift");
  const Map both = with({"xfeat", "aliked"}, {});
  EXPECT_EQ(choose(both, "auto", "auto", synthetic_).matcher, "sift");
  EXPECT_EQ(choose(both, "aliked", "vlad", synthetic_).features, "aliked");
  EXPECT_EQ(choose(both, "xfeat-dense", "vlad", synthetic_).features, "xfeat");
  EXPECT_EQ(choose(both, "mast3r", "vlad", synthetic_).features, "");
}

TEST_F(Methods, DinoV3IsTakenWhereMapAndWeightsHaveIt) {
  const Map map = with({}, {"dinov3-vitl16"});
  EXPECT_EQ(choose(map, "sift", "auto", synthetic_).places, "dinov3-vitl16");
  EXPECT_EQ(choose(map, "sift", "vlad", synthetic_).places, "vlad-sift");
  EXPECT_EQ(choose(map, "sift", "dinov3", synthetic_).places, "dinov3-vitl16");
  const Networks none({.weights = {}, .weights_dir = nowhere_, .placement = {}});
  if (none.available("dinov3-vitl16")) GTEST_SKIP() << "this machine has DINOv3 weights";
  EXPECT_EQ(choose(map, "sift", "auto", none).places, "vlad-sift");
  EXPECT_EQ(choose(map, "sift", "dinov3", none).places, "dinov3-vitl16") << "asked for by name";
}

TEST_F(Methods, WhatTheMapLacksIsNamedWithWhatToDo) {
  const Map& map = SmallWorld::instance().map();
  EXPECT_THAT(refusal(Reason::missing_in_map, [&] { choose(map, "xfeat", "auto", synthetic_); }),
              AllOf(HasSubstr("no xfeat features (it has: sift)"),
                    HasSubstr("skyfix map add --features xfeat")));
  EXPECT_THAT(refusal(Reason::missing_in_map, [&] { choose(map, "sift", "dinov3", synthetic_); }),
              AllOf(HasSubstr("vlad-sift"), HasSubstr("--global dinov3")));
}

TEST_F(Methods, NamesAreChecked) {
  const Map& map = SmallWorld::instance().map();
  EXPECT_THAT(refusal(Reason::bad_option, [&] { choose(map, "xfaet", "auto", synthetic_); }),
              HasSubstr("did you mean xfeat?"));
  EXPECT_THAT(refusal(Reason::bad_option, [&] { choose(map, "sift", "vald", synthetic_); }),
              HasSubstr("did you mean vlad?"));
  MethodOptions options;
  options.network.max_features = -1;
  EXPECT_THAT(refusal(Reason::bad_option, [&] { require_method_names(options); }),
              HasSubstr("--max-features"));
  for (const std::string& name : matcher_names()) {
    options = {};
    options.matcher = name;
    EXPECT_NO_THROW(require_method_names(options));
  }
}

TEST_F(Methods, OpensWhatWasChosen) {
  const Map map = with({"xfeat"}, {});
  const auto kind_of = [&](const std::string& matcher) {
    MethodOptions options;
    options.matcher = matcher;
    const LocalizeMethods methods =
        open_methods(map, choose_methods(map, options, synthetic_), options, {}, synthetic_, cpu());
    EXPECT_EQ(methods.retriever->kind(), "vlad-sift");
    return std::string(methods.matcher->kind());
  };
  EXPECT_EQ(kind_of("sift"), "sift");
  EXPECT_EQ(kind_of("xfeat"), "xfeat");
  EXPECT_EQ(kind_of("xfeat-dense"), "xfeat-dense");
  EXPECT_EQ(synthetic_.opened().at("xfeat"), "synthetic");
}

}  // namespace
}  // namespace skyfix
