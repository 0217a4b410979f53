#include "skyfix/simulate/simulate.h"

#include <gmock/gmock.h>
#include <cstdlib>
#include <map>
#include <optional>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/parallel.h"
#include "skyfix/geo/testing.h"
#include "skyfix/image/image.h"
#include "skyfix/image/metadata.h"
#include "skyfix/simulate/reference.h"
#include "skyfix/simulate/testing.h"

namespace skyfix::sim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / ("skyfix_simulate_" + name);
  fs::remove_all(folder);
  return folder;
}

class Counter : public Progress {
 public:
  void start(const std::string&, std::size_t total) override { total_ = total; }
  void advance(std::size_t done) override { done_ += done; }
  void finish() override { finished_ = true; }
  bool complete() const { return finished_ && done_ == total_ && total_ > 0; }

 private:
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  bool finished_ = false;
};

std::map<std::string, std::string> hashes_below(const fs::path& folder) {
  std::map<std::string, std::string> hashes;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      hashes[fs::relative(entry.path(), folder)] = sha256_hex_of_file(entry.path());
    }
  }
  return hashes;
}

// One small data set, written once for the tests that look into it.
const fs::path& small_data_set() {
  static const fs::path folder = [] {
    const fs::path out = scratch("small");
    Counter progress;
    simulate(small_flight(), out, progress);
    EXPECT_TRUE(progress.complete());
    return out;
  }();
  return folder;
}

TEST(Simulate, WritesEqualBytesWhateverTheThreads) {
  const fs::path again = scratch("again");
  const std::size_t threads = thread_count();
  set_thread_count(threads == 1 ? 3 : 1);
  NoProgress progress;
  simulate(small_flight(), again, progress);
  set_thread_count(threads);
  const auto hashes = hashes_below(small_data_set());
  EXPECT_EQ(hashes.size(), 6 + 4 + 3 + 1);
  EXPECT_EQ(hashes, hashes_below(again));
  fs::remove_all(again);
}

TEST(Simulate, ModelFitsItsPhotos) {
  const ColmapModel model = read_colmap(find_colmap_model(small_data_set()));
  EXPECT_TRUE(model.warnings.empty());
  ASSERT_EQ(model.images.size(), 6);
  EXPECT_GT(model.points.size(), 150);
  std::size_t sightings = 0;
  for (const ColmapPoint& point : model.points) sightings += point.track.size();
  EXPECT_GT(double(sightings), 2.5 * double(model.points.size()));
  for (const ColmapImage& image : model.images) {
    const Camera& camera = model.cameras.at(image.camera);
    const ImageInfo info = probe_image(small_data_set() / kMapImages / image.name);
    EXPECT_EQ(info.width, camera.width);
    EXPECT_EQ(info.height, camera.height);
    for (const ColmapObservation& seen : image.observations) {
      const ColmapPoint& point = model.points.at(seen.point.value - 1);
      const auto pixel = camera.project(image.cam_from_world * point.xyz);
      ASSERT_TRUE(pixel);
      EXPECT_LT((*pixel - seen.pixel).norm(), 1e-6);
    }
  }
}

TEST(Simulate, MetadataTellsGpsAndGimbal) {
  const SimulateOptions options = small_flight();
  const Scene scene(options.seed, scene_half_size_m(options));
  const SimulatedFlight flight = simulate_flight(options, scene);
  const auto check = [&](const char* folder, const SimulatedPhoto& photo) {
    const PhotoMetadata m = read_metadata(small_data_set() / folder / photo.name);
    EXPECT_EQ(m.make, "SKYFIX");
    EXPECT_EQ(m.model, "SIM1");
    EXPECT_EQ(m.exif_width, 300);
    EXPECT_NEAR(m.focal_length_35mm.value_or(0) / 36 * 300, flight.camera.focal_x(), 1e-6);
    const auto gps = m.position();
    ASSERT_TRUE(gps);
    const EnuFrame enu(options.origin);
    EXPECT_THAT(enu.enu_from_wgs84(*gps), VectorNear(enu.enu_from_wgs84(photo.gps), 0.02));
    ASSERT_TRUE(m.gimbal());
    EXPECT_LT(rotation_angle(cam_from_enu(*m.gimbal()), photo.cam_from_enu.rotation), 1e-6);
    EXPECT_NEAR(m.relative_altitude_m.value_or(0), photo.cam_from_enu.centre().z(), 1e-6);
  };
  for (const SimulatedPhoto& photo : flight.map_photos) check(kMapImages, photo);
  for (const SimulatedPhoto& photo : flight.query_photos) check(kQueryImages, photo);
}

TEST(Simulate, RefusesFoldersThatHoldOtherThings) {
  const fs::path out = scratch("foreign");
  write_file_atomic(out / "thesis.txt", "mine");
  NoProgress progress;
  try {
    simulate(small_flight(), out, progress);
    ADD_FAILURE() << "wrote among another's files";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::unwritable_output);
  }
  EXPECT_EQ(hashes_below(out).size(), 1);
  EXPECT_THROW(simulate(small_flight(), out / "thesis.txt", progress), Error);
  fs::remove_all(out);
}

TEST(Simulate, RefusesBadOptionsBeforeWriting) {
  const fs::path out = scratch("bad_options");
  SimulateOptions options = small_flight();
  options.overlap = 2;
  NoProgress progress;
  EXPECT_THROW(simulate(options, out, progress), Error);
  EXPECT_FALSE(fs::exists(out));
}

TEST(Simulate, WorksWithoutQueries) {
  const fs::path out = scratch("no_queries");
  SimulateOptions options = small_flight();
  options.map_images = 2;
  options.query_images = 0;
  options.width_px = 96;
  NoProgress progress;
  simulate(options, out, progress);
  const Json reference = Json::parse(read_file(out / "reference.json"));
  EXPECT_TRUE(reference.at("queries").is_object());
  EXPECT_TRUE(reference.at("queries").empty());
  fs::remove_all(out);
}

// All keys of a JSON value, as paths; entries of objects named by photo share one path.
void collect_keys(const Json& json, const std::string& path, std::set<std::string>& keys) {
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const std::string here = path + "/" + (key.ends_with(".JPG") ? "PHOTO" : key);
    keys.insert(here + ":" + (value.is_number() ? "number" : value.type_name()));
    collect_keys(value, here, keys);
  }
}

// The reference data set, or nothing (skips the test; fails it on CI).
std::optional<Json> brighton() {
  const fs::path file = fs::path(SKYFIX_SHARED_DIR) / "data/brighton/reference.json";
  if (fs::exists(file)) return Json::parse(read_file(file));
  const char* ci = std::getenv("CI");
  if (ci && std::string(ci) == "true") ADD_FAILURE() << file << " is missing on CI";
  return std::nullopt;
}

TEST(Reference, HasTheKeysOfTheReferenceDataSet) {
  const std::optional<Json> expected = brighton();
  if (!expected) GTEST_SKIP() << "NO REFERENCE DATA beside the repository (shared/data/brighton)";
  std::set<std::string> expected_keys;
  std::set<std::string> keys;
  collect_keys(*expected, "", expected_keys);
  collect_keys(Json::parse(read_file(small_data_set() / "reference.json")), "", keys);
  EXPECT_EQ(keys, expected_keys);
}

// Their poses, written by us, give their derived values: the same conventions.
TEST(Reference, DerivesWhatTheReferenceDataSetSays) {
  const std::optional<Json> expected = brighton();
  if (!expected) GTEST_SKIP() << "NO REFERENCE DATA beside the repository (shared/data/brighton)";
  const auto vector = [](const Json& j) {
    return Eigen::Vector3d(j[0].get<double>(), j[1].get<double>(), j[2].get<double>());
  };
  SimulatedFlight flight;
  const Json& origin = (*expected)["frame"]["origin_wgs84"];
  flight.origin = {origin["latitude_deg"], origin["longitude_deg"], origin["altitude_m"]};
  for (const auto& [name, query] : (*expected)["queries"].items()) {
    SimulatedPhoto photo;
    photo.name = name;
    const Json& q = query["world_to_camera"]["quaternion_wxyz"];
    photo.cam_from_enu.rotation = Eigen::Quaterniond(q[0].get<double>(), q[1].get<double>(),
                                                     q[2].get<double>(), q[3].get<double>());
    photo.cam_from_enu.translation = vector(query["world_to_camera"]["translation"]);
    const Json& gps = query["gps_exif"];
    photo.gps = {gps["latitude_deg"], gps["longitude_deg"], gps["altitude_m"]};
    flight.query_photos.push_back(photo);
  }
  const Json ours = Json::parse(reference_json(flight));
  for (const auto& [name, query] : (*expected)["queries"].items()) {
    const Json& written = ours["queries"].at(name);
    for (const char* key : {"image_up_azimuth_deg", "tilt_from_nadir_deg", "altitude_m"}) {
      EXPECT_NEAR(written[key].get<double>(), query[key].get<double>(), 1e-3) << name << " " << key;
    }
    EXPECT_NEAR(written["latitude_deg"].get<double>(), query["latitude_deg"].get<double>(), 1e-8);
    EXPECT_NEAR(written["longitude_deg"].get<double>(), query["longitude_deg"].get<double>(), 1e-8);
    EXPECT_THAT(vector(written["centre_enu_m"]), VectorNear(vector(query["centre_enu_m"]), 1e-4));
    EXPECT_THAT(vector(written["gps_exif"]["enu_m"]),
                VectorNear(vector(query["gps_exif"]["enu_m"]), 1e-3));
  }
}

TEST(Reference, RoundTripsThePoses) {
  const SimulateOptions options = small_flight();
  const Scene scene(options.seed, scene_half_size_m(options));
  const SimulatedFlight flight = simulate_flight(options, scene);
  const Json json = Json::parse(read_file(small_data_set() / "reference.json"));
  ASSERT_EQ(json["queries"].size(), 4);
  ASSERT_EQ(json["map"]["names"].size(), 6);
  for (const SimulatedPhoto& photo : flight.query_photos) {
    const Json& q = json["queries"].at(photo.name)["world_to_camera"];
    const Json& w = q["quaternion_wxyz"];
    EXPECT_GE(w[0].get<double>(), 0);
    Rigid3 pose;
    pose.rotation = Eigen::Quaterniond(w[0].get<double>(), w[1].get<double>(), w[2].get<double>(),
                                       w[3].get<double>());
    for (int i = 0; i < 3; ++i) pose.translation[i] = q["translation"][i];
    EXPECT_THAT(pose, PoseNear(photo.cam_from_enu, 1e-9, 1e-9));
    EXPECT_TRUE(fs::exists(small_data_set() / json["queries"][photo.name]["file"]));
  }
}

}  // namespace
}  // namespace skyfix::sim
