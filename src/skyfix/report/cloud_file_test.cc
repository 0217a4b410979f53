#include "skyfix/report/cloud_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "skyfix/base/file.h"
#include "skyfix/report/full_disk_testing.h"
#include "skyfix/report/stream_testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using report_testing::FullDisk;
using report_testing::refusal_of;
using report_testing::sample_stream_frame;
using report_testing::scratch_folder;

std::vector<CloudPoint> points_of(const fs::path& file) {
  std::vector<CloudPoint> all;
  read_cloud(file, [&](std::span<const CloudPoint> points) {
    all.insert(all.end(), points.begin(), points.end());
  });
  return all;
}

void add_frames(CloudWriter& cloud, std::int64_t first, std::int64_t last) {
  for (std::int64_t index = first; index <= last; ++index) {
    cloud.add(sample_stream_frame(index, {56, 28, true, true}));
    cloud.settle();
  }
}

CloudOptions crowded() {
  CloudOptions options;
  options.voxel = 1.0 / 128;
  options.max_points = 1500;
  return options;
}

TEST(CloudFile, HeaderIsOfOneLengthAndReadsBack) {
  for (const std::uint64_t points :
       {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{123'456'789}}) {
    CloudHeader header;
    header.offset = {-12, 0, 1e6};
    header.voxel = 1.0 / 3;
    header.confidence_threshold = 1.5;
    header.points = points;
    const std::string text = cloud_header_text(header);
    EXPECT_EQ(text.size(), kCloudHeaderBytes);
    EXPECT_THAT(text, ::testing::StartsWith("ply\nformat binary_little_endian 1.0\n"));
    EXPECT_THAT(text, ::testing::EndsWith("end_header\n"));
    EXPECT_THAT(text, ::testing::HasSubstr("units arbitrary"));
    const CloudHeader read = parse_cloud_header(text, {});
    EXPECT_EQ(read.points, points);
    EXPECT_EQ(read.offset, header.offset);
    EXPECT_EQ(read.voxel, header.voxel);
  }
}

TEST(CloudFile, ForeignAndDamagedHeadersAreRefused) {
  const std::string good = cloud_header_text({});
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '#' ? '%' : '#';
    EXPECT_EQ(refusal_of([&] { parse_cloud_header(bad, "c.ply"); }), Reason::bad_run) << i;
  }
  EXPECT_EQ(refusal_of([&] { parse_cloud_header(good.substr(0, 1023), {}); }), Reason::bad_run);
  EXPECT_EQ(refusal_of([&] { parse_cloud_header("", {}); }), Reason::bad_run);
}

TEST(CloudFile, IsValidAfterEveryAppend) {
  const fs::path file = scratch_folder() / "cloud.ply";
  CloudWriter cloud(file, {});
  EXPECT_EQ(fs::file_size(file), kCloudHeaderBytes);
  for (std::int64_t index = 1; index <= 4; ++index) {
    add_frames(cloud, index, index);
    const CloudHeader header = read_cloud(file);
    EXPECT_EQ(fs::file_size(file), kCloudHeaderBytes + header.points * kCloudPointBytes);
    EXPECT_EQ(header.points, cloud.header().points);
    EXPECT_EQ(points_of(file).size(), header.points);
  }
  std::int64_t sum = 0;
  for (const auto& [frame, count] : cloud.points_by_frame()) sum += count;
  EXPECT_EQ(sum, static_cast<std::int64_t>(cloud.header().points));
}

// The cap by its rule, on all points at once: a twin without files and sets.
TEST(CloudFile, CoarseningIsThatOfTheSlowTwin) {
  const fs::path file = scratch_folder() / "cloud.ply";
  const CloudOptions options = crowded();
  CloudWriter cloud(file, options);
  std::vector<CloudPoint> slow;
  double voxel = options.voxel;
  const auto add_if_free = [&](std::vector<CloudPoint>& points, const CloudPoint& point) {
    const auto same_voxel = [&](const CloudPoint& other) {
      return voxel_of(other.xyz, voxel) == voxel_of(point.xyz, voxel);
    };
    if (std::none_of(points.begin(), points.end(), same_voxel)) points.push_back(point);
  };
  for (std::int64_t index = 1; index <= 5; ++index) {
    const StreamFrame frame = sample_stream_frame(index, {56, 28, true, true});
    cloud.add(frame);
    cloud.settle();
    for (const CloudPoint& point : frame_points(frame, options, cloud.header().offset).points) {
      add_if_free(slow, point);
    }
    while (slow.size() > static_cast<std::size_t>(options.max_points)) {
      voxel *= 2;
      std::vector<CloudPoint> coarser;
      for (const CloudPoint& point : slow) add_if_free(coarser, point);
      slow = coarser;
    }
    EXPECT_EQ(cloud.header().voxel, voxel);
    ASSERT_EQ(points_of(file).size(), slow.size());
  }
  EXPECT_GT(voxel, options.voxel);
  const std::vector<CloudPoint> fast = points_of(file);
  for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_EQ(fast[i].xyz, slow[i].xyz);
}

// Whatever frame the records end with, and whether the next one's points were there already or the
// last one's not thinned yet.
TEST(CloudFile, GoesOnToTheSameBytes) {
  enum class Cut { clean, next_frame_there, not_settled };
  for (const CloudOptions& options : {CloudOptions{}, crowded()}) {
    const fs::path folder = scratch_folder();
    {
      CloudWriter whole(folder / "whole.ply", options);
      add_frames(whole, 1, 8);
    }
    for (std::int64_t last = 1; last <= 8; ++last) {
      for (const Cut cut : {Cut::clean, Cut::next_frame_there, Cut::not_settled}) {
        const fs::path file = folder / "cut.ply";
        {
          CloudWriter writer(file, options);
          add_frames(writer, 1, last - 1);
          writer.add(sample_stream_frame(last, {56, 28, true, true}));
          if (cut != Cut::not_settled) writer.settle();
          if (cut == Cut::next_frame_there) writer.add(sample_stream_frame(last + 1, {56, 28}));
        }
        CloudWriter resumed(file, options, last);
        add_frames(resumed, last + 1, 8);
        EXPECT_EQ(read_file(file), read_file(folder / "whole.ply")) << last;
      }
    }
    // Nothing is recorded: what the first frame decided is forgotten.
    { CloudWriter(folder / "none.ply", options).add(sample_stream_frame(9)); }
    CloudWriter none(folder / "none.ply", options, 0);
    add_frames(none, 1, 8);
    EXPECT_EQ(read_file(folder / "none.ply"), read_file(folder / "whole.ply"));
  }
}

TEST(CloudFile, UndoTakesAFrameBack) {
  const fs::path file = scratch_folder() / "cloud.ply";
  CloudWriter cloud(file, {});
  for (std::int64_t index = 1; index <= 3; ++index) {
    const std::string before = read_file(file);
    cloud.add(sample_stream_frame(index));
    cloud.undo();
    EXPECT_EQ(read_file(file), before);
    cloud.add(sample_stream_frame(index));
  }
  const fs::path other = scratch_folder() / "cloud.ply";
  CloudWriter straight(other, {});
  for (std::int64_t index = 1; index <= 3; ++index) straight.add(sample_stream_frame(index));
  EXPECT_EQ(read_file(file), read_file(other));
}

TEST(CloudFile, PointsThatALossOfPowerTookDoNotCount) {
  const fs::path file = scratch_folder() / "cloud.ply";
  {
    CloudWriter cloud(file, {});
    add_frames(cloud, 1, 3);
  }
  EXPECT_FALSE(last_whole_frame(file));
  fs::resize_file(file, fs::file_size(file) - 30);
  EXPECT_EQ(last_whole_frame(file), 2);
  EXPECT_EQ(points_of(file).back().frame, 3u);  // what is there can be read
  fs::resize_file(file, kCloudHeaderBytes);
  EXPECT_EQ(last_whole_frame(file), 0);
  fs::resize_file(file, 100);
  EXPECT_EQ(refusal_of([&] { last_whole_frame(file); }), Reason::bad_run);
}

TEST(CloudFile, AFullDiskLeavesTheFileAsItWas) {
  const fs::path file = scratch_folder() / "cloud.ply";
  CloudWriter cloud(file, {});
  add_frames(cloud, 1, 2);
  const std::string before = read_file(file);
  {
    const FullDisk disk(before.size() + 100);
    EXPECT_EQ(refusal_of([&] { cloud.add(sample_stream_frame(3)); }), Reason::unwritable_output);
    EXPECT_EQ(read_file(file), before);
  }
  add_frames(cloud, 3, 3);
  EXPECT_GT(read_cloud(file).points, 0u);
}

TEST(CloudFile, ThinsForOtherTools) {
  const fs::path file = scratch_folder() / "cloud.ply";
  {
    CloudWriter cloud(file, {});
    add_frames(cloud, 1, 6);
  }
  const std::size_t all = read_cloud(file).points;
  EXPECT_EQ(thinned_cloud(file, static_cast<std::int64_t>(all)).size(), all);
  const auto fewer = thinned_cloud(file, 300);
  EXPECT_LE(fewer.size(), 300u);
  EXPECT_GT(fewer.size(), 20u);
  EXPECT_TRUE(thinned_cloud(file, 0).empty());
  EXPECT_LE(thinned_cloud(file, 1).size(), 8u);
}

}  // namespace
}  // namespace skyfix
