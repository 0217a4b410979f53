#include "skyfix/report/stream_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "skyfix/base/file.h"
#include "skyfix/report/stream_testing.h"
#include "skyfix/report/tum.h"

namespace skyfix {
namespace {

using report_testing::scratch_folder;
using report_testing::stream_frame_of_run;
using report_testing::StreamScene;
using ::testing::HasSubstr;

std::vector<StreamRecord> records_of(std::int64_t frames, const StreamScene& scene = {}) {
  std::vector<StreamRecord> records;
  for (std::int64_t index = 1; index <= frames; ++index) {
    records.push_back(stream_record(stream_frame_of_run(index, scene), 1.5, {}, {}));
  }
  return records;
}

TEST(StreamExport, TumIsCameraToWorldByTimeOrIndex) {
  const auto timed = records_of(6);
  const std::string text = export_stream_tum(timed);
  EXPECT_THAT(text, HasSubstr("arbitrary"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 5);
  EXPECT_THAT(text, HasSubstr("\n0.033366667 0.14"));
  EXPECT_THAT(export_stream_tum(records_of(2, {28, 14, false, true})), HasSubstr("\n1.000000000 "));
  auto stalled = timed;
  stalled[2].time_ns = stalled[1].time_ns;
  EXPECT_THAT(export_stream_tum(stalled), ::testing::Not(HasSubstr("0.21")));
}

TEST(StreamExport, CsvHasALineForEveryFrame) {
  const std::string text = export_stream_csv(records_of(6), {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  EXPECT_THAT(text, HasSubstr("\r\n\"clip, 1.mp4#2\",2,33366667,ok,,"));
  EXPECT_THAT(text, HasSubstr("\"clip, 1.mp4#5\",5,,failed,corrupt_image,,,"));
  std::size_t begin = 0;
  const std::string head = text.substr(0, text.find('\r'));
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    std::string line = text.substr(begin, end - begin);
    const auto commas = std::count(line.begin(), line.end(), ',');
    EXPECT_EQ(commas - (begin > 0 ? 1 : 0), std::count(head.begin(), head.end(), ','));
    begin = end + 1;
  }
}

TEST(StreamExport, ColmapPointsLieOnTheirPixels) {
  const auto records = records_of(3);
  const Eigen::Vector3d offset(1, -1, 2);
  std::vector<CloudPoint> points;
  for (std::int64_t index = 1; index <= 3; ++index) {
    const auto more = frame_points(stream_frame_of_run(index), {}, offset).points;
    points.insert(points.end(), more.begin(), more.end());
  }
  const ColmapModel model = stream_colmap(records, points, offset);
  ASSERT_EQ(model.images.size(), 3u);
  ASSERT_EQ(model.points.size(), points.size());
  std::size_t observations = 0;
  for (const ColmapImage& image : model.images) {
    EXPECT_EQ(model.cameras.at(image.camera).width, 112);
    for (const ColmapObservation& observation : image.observations) {
      ++observations;
      // A network pixel's number times the scale, whole numbers of source pixels.
      const Eigen::Vector2d network = observation.pixel / 4;
      EXPECT_LT((network - network.array().round().matrix()).norm(), 1e-4);
    }
  }
  EXPECT_EQ(observations, points.size());
  EXPECT_EQ(model.points[0].track[0].image, ImageId(1));
}

TEST(StreamExport, PlyIsTheCloudItself) {
  const auto file = scratch_folder() / "cloud.ply";
  {
    CloudWriter cloud(file, {});
    cloud.add(stream_frame_of_run(1));
  }
  const std::string whole = read_file(file);
  EXPECT_EQ(export_cloud_ply(file), whole);
  write_file_atomic(file, whole + "left by a killed run");
  EXPECT_EQ(export_cloud_ply(file), whole);
}

}  // namespace
}  // namespace skyfix
