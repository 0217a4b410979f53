// Damaged and hostile map folders, and folders in the way.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "skyfix/base/hash.h"
#include "skyfix/map/map_folder_testing.h"
#include "skyfix/map/map_manifest.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class MapDamage : public ::testing::Test {
 protected:
  MapDamage() : folder_(scratch_ / "map") { write_full_map(plane_model(4, 6), folder_); }

  std::string error(bool verify = false, Reason reason = Reason::bad_map) const {
    return error_of(reason, [&] { Map::open(folder_, verify); });
  }
  // Changes map.json, which then disagrees with its content hash.
  void edit(const std::function<void(json&)>& change) const {
    json object = json::parse(read_file(folder_ / "map.json"));
    change(object);
    write_file_atomic(folder_ / "map.json", object.dump());
  }
  std::vector<std::string> tables() const {
    std::vector<std::string> paths;
    const Map map = Map::open(folder_);
    for (const auto& [path, table] : map.manifest()["tables"].items()) {
      paths.push_back(path);
    }
    return paths;
  }
  // Overwrites a value from the end of a table's file.
  template <class T>
  void patch(const std::string& table, std::size_t from_end, T value) const {
    std::string bytes = read_file(folder_ / table);
    std::memcpy(bytes.data() + bytes.size() - sizeof(T) * (from_end + 1), &value, sizeof(T));
    write_file_atomic(folder_ / table, bytes);
  }
  ScratchFolder scratch_;
  fs::path folder_;
};

TEST_F(MapDamage, MissingAndCutTablesAreNamed) {
  const std::vector<std::string> paths = tables();
  EXPECT_EQ(paths.size(), 20u);
  for (const std::string& path : paths) {
    const std::string whole = read_file(folder_ / path);
    write_file_atomic(folder_ / path, whole.substr(0, whole.size() - 1));
    EXPECT_THAT(error(), AllOf(HasSubstr(path), HasSubstr("bytes")));
    fs::remove(folder_ / path);
    EXPECT_THAT(error(), AllOf(HasSubstr(path), HasSubstr("missing")));
    write_file_atomic(folder_ / path, whole);
  }
  Map::open(folder_, true);
}

TEST_F(MapDamage, ChangedBytesAreFoundWhenVerified) {
  for (const std::string& path : tables()) {
    const std::string whole = read_file(folder_ / path);
    std::string changed = whole;
    changed.back() ^= 1;
    write_file_atomic(folder_ / path, changed);
    EXPECT_THAT(error(true), HasSubstr(path));
    write_file_atomic(folder_ / path, whole);
  }
}

TEST_F(MapDamage, OffsetsThatFallOrOverrunAreFoundOnOpening) {
  for (const char* path :
       {"observations/offset.npy", "features/sift/offset.npy", "images/name_offset.npy"}) {
    const std::string whole = read_file(folder_ / path);
    for (const std::size_t from_end : {0, 2, 4}) {
      patch<std::uint64_t>(path, from_end, std::uint64_t{1} << 62);
      EXPECT_THAT(error(), AllOf(HasSubstr(path), HasSubstr("offsets")));
      write_file_atomic(folder_ / path, whole);
    }
  }
}

TEST_F(MapDamage, ImagesOfUnknownCamerasAreFoundOnOpening) {
  patch<std::uint32_t>("images/camera.npy", 0, 99);
  EXPECT_THAT(error(), HasSubstr("camera 99"));
}

// Tables whose hashes fit but whose content does not: made by a faulty or hostile writer.
TEST_F(MapDamage, IndicesOutOfRangeAreFoundWhenVerified) {
  const auto rehash = [&](const std::string& path) {
    const fs::path file = folder_ / "map.json";
    auto manifest = map_manifest::from_json(map_manifest::parse_json(read_file(file), file), file);
    manifest.tables.at(path).sha256 = sha256_hex_of_file(folder_ / path);
    write_file_atomic(file, map_manifest::to_json(manifest).dump());
  };
  const std::string json_before = read_file(folder_ / "map.json");
  const auto expect_found = [&](const std::string& path, const auto& value) {
    const std::string whole = read_file(folder_ / path);
    patch(path, 0, value);
    rehash(path);
    Map::open(folder_);
    EXPECT_THAT(error(true), AllOf(HasSubstr(path), HasSubstr("holds")));
    write_file_atomic(folder_ / path, whole);
    write_file_atomic(folder_ / "map.json", json_before);
  };
  expect_found("observations/point.npy", std::uint32_t{6});
  expect_found("features/sift/point.npy", std::uint32_t{6});
  expect_found("features/sift/observation.npy", std::uint32_t{6});
  expect_found("points/xyz.npy", std::nan(""));
  expect_found("images/pose.npy", std::nan(""));
  expect_found("places/vlad-sift/descriptor.npy", std::nanf(""));
}

TEST_F(MapDamage, AnotherVersionSaysBuildAgain) {
  edit([](json& object) { object["version"] = kMapVersion + 1; });
  EXPECT_THAT(error(false, Reason::map_version),
              AllOf(HasSubstr("version 2"), HasSubstr("Build the map again")));
}

TEST_F(MapDamage, EveryCutOfTheManifestIsAnError) {
  const std::string whole = read_file(folder_ / "map.json");
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    write_file_atomic(folder_ / "map.json", whole.substr(0, size));
    EXPECT_THAT(error(), HasSubstr("map.json"));
  }
}

TEST_F(MapDamage, EveryValueOfAnotherTypeIsAnErrorOrHarmless) {
  const json whole = json::parse(read_file(folder_ / "map.json"));
  const json flat = whole.flatten();
  for (const auto& [pointer, old] : flat.items()) {
    if (pointer.starts_with("/notes") || pointer == "/skyfix_version" || pointer == "/units")
      continue;
    for (const json& value : {json(nullptr), json(-1), json(1e300), json("x"), json::array(),
                              json::object(), json(std::uint64_t{1} << 63)}) {
      json changed = whole;
      changed[json::json_pointer(pointer)] = value;
      write_file_atomic(folder_ / "map.json", changed.dump());
      try {
        Map::open(folder_);
        ADD_FAILURE() << pointer << " = " << value << " was not noticed";
      } catch (const Error& error) {
        EXPECT_THAT(error.reason(), ::testing::AnyOf(Reason::bad_map, Reason::map_version));
      }
    }
  }
}

TEST_F(MapDamage, TablesOutsideTheFolderAreNotTouched) {
  edit([](json& object) { object["tables"]["../../etc/passwd"] = {{"bytes", 1}, {"sha256", ""}}; });
  EXPECT_THAT(error(), HasSubstr("map.json"));
  edit([](json& object) { object["features"]["../x"] = {{"dimension", 4}}; });
  EXPECT_THAT(error(), HasSubstr("no name of a kind"));
}

TEST_F(MapDamage, HandEditsOfWhatResultsDependOnAreNoticed) {
  edit([](json& object) { object["cameras"][0]["params"][0] = 501; });
  EXPECT_THAT(error(), HasSubstr("content_hash"));
}

TEST_F(MapDamage, OtherFoldersAreNoMaps) {
  EXPECT_THAT(error_of(Reason::unreadable_file, [&] { Map::open(scratch_ / "nowhere"); }),
              HasSubstr("nowhere"));
  fs::create_directory(scratch_ / "empty");
  EXPECT_THAT(error_of(Reason::bad_map, [&] { Map::open(scratch_ / "empty"); }),
              HasSubstr("not a map"));
  write_file_atomic(folder_ / "map.json", R"({"format": "other", "version": 1})");
  EXPECT_THAT(error(), HasSubstr("format"));
}

// ---- folders in the way

class MapInTheWay : public MapDamage {
 protected:
  std::string write_error(const fs::path& folder, bool overwrite) const {
    return error_of(Reason::unwritable_output,
                    [&] { write_full_map(plane_model(9, 10), folder, overwrite); });
  }
  // Nothing half-written may be left beside the map.
  void expect_no_rest() const {
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      EXPECT_EQ(entry.path().filename().string().find(".partial"), std::string::npos);
      EXPECT_EQ(entry.path().filename().string().find(".replaced"), std::string::npos);
    }
  }
};

TEST_F(MapInTheWay, AMapIsReplacedOnlyWhenTold) {
  EXPECT_THAT(write_error(folder_, false), HasSubstr("already"));
  EXPECT_EQ(Map::open(folder_, true).image_count(), 4u);
  write_full_map(plane_model(9, 10), folder_, true);
  EXPECT_EQ(Map::open(folder_, true).image_count(), 9u);
  expect_no_rest();
}

TEST_F(MapInTheWay, ATrailingSlashIsTheSameFolder) {
  write_full_map(plane_model(9, 10), folder_.string() + "/", true);
  EXPECT_EQ(Map::open(folder_, true).image_count(), 9u);
  write_full_map(plane_model(2, 6), scratch_ / "new/deep/", false);
  EXPECT_EQ(Map::open(scratch_ / "new/deep", true).image_count(), 2u);
  expect_no_rest();
}

TEST_F(MapInTheWay, OtherFoldersAndFilesStay) {
  write_file_atomic(scratch_ / "photos/a.jpg", "precious");
  EXPECT_THAT(write_error(scratch_ / "photos", true), HasSubstr("other files"));
  EXPECT_EQ(read_file(scratch_ / "photos/a.jpg"), "precious");
  EXPECT_THAT(write_error(scratch_ / "photos/a.jpg", true), HasSubstr("in the way"));
  write_file_atomic(folder_ / "points/mine.txt", "precious");
  EXPECT_THAT(write_error(folder_, true), HasSubstr("points/mine.txt"));
  EXPECT_EQ(Map::open(folder_, true).image_count(), 4u);
  EXPECT_EQ(read_file(folder_ / "points/mine.txt"), "precious");
  expect_no_rest();
}

TEST_F(MapInTheWay, AnEmptyFolderIsUsed) {
  fs::create_directory(scratch_ / "empty");
  write_full_map(plane_model(2, 6), scratch_ / "empty");
  EXPECT_EQ(Map::open(scratch_ / "empty", true).image_count(), 2u);
  expect_no_rest();
}

TEST_F(MapInTheWay, AMapOfAnotherVersionOrWithLostTablesCanBeReplaced) {
  edit([](json& object) { object["version"] = 99; });
  fs::remove(folder_ / "points/xyz.npy");
  write_full_map(plane_model(9, 10), folder_, true);
  EXPECT_EQ(Map::open(folder_, true).image_count(), 9u);
}

TEST_F(MapInTheWay, AParentThatIsAFileIsSaidSo) {
  write_file_atomic(scratch_ / "file", "x");
  write_error(scratch_ / "file/map", false);
}

}  // namespace
}  // namespace skyfix
