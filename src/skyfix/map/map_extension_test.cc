#include "skyfix/map/map_extension.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/map/map_folder_testing.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;

class MapExtensionTest : public ::testing::Test {
 protected:
  MapExtensionTest()
      : root_(fs::temp_directory_path() / ("skyfix_map_extension_" + std::to_string(::getpid()))),
        folder_(root_ / "map") {
    fs::remove_all(root_);
    model_ = plane_model(4, 6);
    write_full_map(model_, folder_);
  }
  ~MapExtensionTest() override { fs::remove_all(root_); }

  // One row at the first observation of every image, holding `value`.
  static void add_xfeat(MapExtension& extension, const Map& map, float value) {
    std::vector<MapWriter::ImageFeatures> rows(map.image_count());
    for (auto& row : rows) {
      row.observation = {0};
      row.pixel = {1.5f, 2.5f};
      row.descriptor = {value, 0};
    }
    extension.add_features("xfeat", 2, std::move(rows));
  }

  fs::path root_;
  fs::path folder_;
  ColmapModel model_;
};

TEST_F(MapExtensionTest, AddsKindsAndLeavesTheRestAlone) {
  std::string before;
  std::string sift_table = (folder_ / "features/sift/descriptor.npy").string();
  const std::string sift = read_file(sift_table);
  {
    const Map map = Map::open(folder_, true);
    before = map.content_hash();
    MapExtension extension(map);
    add_xfeat(extension, map, 1);
    extension.add_places("dinov3",
                         {1, 2, {0.5f, 0.5f}, std::vector<float>(2 * map.image_count(), 1)});
    extension.set_note("network_xfeat", {{"weights_sha256", "abc"}});
    extension.write();
  }
  const Map map = Map::open(folder_, /*verify_hashes=*/true);
  EXPECT_NE(map.content_hash(), before);
  EXPECT_THAT(map.feature_kinds(), ::testing::ElementsAre("sift", "xfeat"));
  EXPECT_THAT(map.place_kinds(), ::testing::ElementsAre("dinov3", "vlad-sift"));
  EXPECT_EQ(read_file(sift_table), sift);
  const MapFeatures xfeat = map.features("xfeat");
  ASSERT_EQ(xfeat.point.size(), map.image_count());
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    EXPECT_EQ(xfeat.point[i], map.observation_point()[map.observation_offset()[i]]);
  }
  EXPECT_EQ(map.note("network_xfeat").at("weights_sha256"), "abc");
  EXPECT_EQ(map.note("source"), "sparse/0");
  EXPECT_TRUE(map.note("nothing").is_null());
}

TEST_F(MapExtensionTest, ReplacesAKindOfTheSameName) {
  for (const float value : {1.0f, 2.0f}) {
    const Map map = Map::open(folder_);
    MapExtension extension(map);
    add_xfeat(extension, map, value);
    extension.write();
  }
  const Map map = Map::open(folder_, true);
  EXPECT_EQ(map.features("xfeat").descriptor[0], 2.0f);
  EXPECT_EQ(map.features("xfeat").point.size(), map.image_count());
}

TEST_F(MapExtensionTest, ForeignFilesInTheFolderKeepTheMapAsItWas) {
  write_file_atomic(folder_ / "notes.txt", "mine");
  const Map map = Map::open(folder_);
  MapExtension extension(map);
  add_xfeat(extension, map, 1);
  EXPECT_THROW(extension.write(), Error);
  EXPECT_EQ(Map::open(folder_, true).content_hash(), map.content_hash());
  EXPECT_EQ(read_file(folder_ / "notes.txt"), "mine");
}

}  // namespace
}  // namespace skyfix
