#include "real_data.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "skyfix/base/file.h"
#include "skyfix/geo/camera.h"

namespace skyfix::testing {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

fs::path build_once(const std::string& name, const fs::path& sparse, const fs::path& images,
                    const std::vector<std::string>& more) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("skyfix_map_" + name + "_" + std::to_string(::getpid()));
  std::vector<std::string> arguments = {"map",  "build", "--colmap", sparse,       "--images",
                                        images, "--out", folder,     "--overwrite"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = skyfix(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return folder;
}

// Removes a map made by build_once when the process ends.
struct BuiltMap {
  fs::path folder;
  ~BuiltMap() { fs::remove_all(folder); }
};

json turned_query(json query, int quarters, int width, int height) {
  query["file"] = "unused";
  auto& pose = query["world_to_camera"];
  const auto q = pose["quaternion_wxyz"].get<std::vector<double>>();
  const auto t = pose["translation"].get<std::vector<double>>();
  const Eigen::Matrix3d turn = quarter_turn_rotation(quarters);
  const Eigen::Quaterniond rotation(turn *
                                    Eigen::Quaterniond(q[0], q[1], q[2], q[3]).toRotationMatrix());
  const double sign = rotation.w() < 0 ? -1 : 1;
  const Eigen::Vector3d translation = turn * Eigen::Vector3d(t[0], t[1], t[2]);
  pose["quaternion_wxyz"] = {sign * rotation.w(), sign * rotation.x(), sign * rotation.y(),
                             sign * rotation.z()};
  pose["translation"] = {translation.x(), translation.y(), translation.z()};
  query["camera"]["width"] = width;
  query["camera"]["height"] = height;
  return query;
}

// What was reached, for whoever reads the log: the tests only hold the bars.
void print_figures(const fs::path& input, const json& result) {
  const auto number = [&](const char* key) {
    return result.contains(key) && result[key].is_number() ? result[key].get<double>() : NAN;
  };
  std::printf(
      "[ figures  ] %s: %d of %d ok; horizontal RMSE %.3f m, max %.3f m; 3D %.3f m or %.3f %%; "
      "rotation max %.3f deg\n",
      input.parent_path().filename().c_str(), result.value("ok", -1), result.value("frames", -1),
      number("horizontal_rmse_m"), number("horizontal_max_m"), number("position_rmse_m"),
      number("position_rmse_percent"), number("rotation_max_deg"));
}

}  // namespace

const fs::path& brighton_map() {
  static const BuiltMap built{build_once("brighton", shared_folder() / "data/brighton/sparse/0",
                                         shared_folder() / "data/brighton/images/map",
                                         {"--enu-origin", "46.8425,-91.9940,150"})};
  return built.folder;
}

const fs::path& university_map() {
  static const BuiltMap built{build_once("university", shared_folder() / "data/university/sparse/0",
                                         shared_folder() / "data/university/images", {})};
  return built.folder;
}

json localize_and_evaluate(const fs::path& map, const fs::path& input, const fs::path& reference,
                           const fs::path& run, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "localize", "--map", map, "--input", input, "--out", run, "--descriptor-cache", "off"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome localized = skyfix(arguments);
  EXPECT_EQ(localized.status, 0) << localized.err;
  const fs::path report = run.string() + ".evaluation.json";
  const Outcome evaluated =
      skyfix({"evaluate", "--run", run, "--reference", reference, "--json", report});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  if (!fs::exists(report)) return {};
  const json result = json::parse(read_file(report));
  print_figures(input, result);
  return result;
}

void write_spoiled_brighton(const Spoil& spoil, const fs::path& folder) {
  const fs::path source = shared_folder() / "data/brighton";
  json reference = json::parse(read_file(source / "reference.json"));
  for (auto& [name, query] : reference["queries"].items()) {
    Image image = decode_image(source / "images/query" / name, {.grey = false});
    if (spoil.change) image = spoil.change(image);
    if (spoil.scale != 1) {
      image = resize(image, static_cast<int>(std::lround(image.width * spoil.scale)),
                     static_cast<int>(std::lround(image.height * spoil.scale)));
    }
    image = turn(image, spoil.quarters);
    make_folder(folder / "images");
    write_jpeg(folder / "images" / name, image, spoil.quality);
    query = turned_query(query, spoil.quarters, image.width, image.height);
  }
  write_file_atomic(folder / "reference.json", reference.dump(1));
}

}  // namespace skyfix::testing
