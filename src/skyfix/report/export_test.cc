#include "skyfix/report/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "skyfix/base/text.h"
#include "skyfix/geo/testing.h"
#include "skyfix/report/record_file.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<Record> sample_run() {
  return {{sample_ok_fix("a.jpg", 1), 1'700'000'000'123'456'789},
          {sample_ok_fix("sub/b, \"c\".jpg", 2), 1'700'000'001'000'000'001},
          {sample_bad_fix("d e.jpg", 3, FixStatus::failed, Reason::no_features), {}},
          {sample_ok_fix("f.jpg", 4), 1'700'000'002'000'000'000}};
}

std::vector<Record> without_georegistration(std::vector<Record> records) {
  for (Record& record : records) {
    if (!record.fix.pose) continue;
    record.fix.pose->position_enu.reset();
    record.fix.pose->position_wgs84.reset();
    record.fix.pose->orientation_ypr_ned.reset();
    record.fix.pose->covariance_enu.reset();
  }
  return records;
}

Reason refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.reason();
  }
  return Reason::internal;
}

TEST(ExportCsv, OneLineARecordWithQuotesWhereNeeded) {
  const std::string csv = export_csv(sample_run(), {});
  const auto lines = whole_lines(csv);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], StartsWith("name,index,time_ns,status,reason,qw,qx,qy,qz,tx,ty,tz,east,"));
  EXPECT_THAT(lines[1], StartsWith("a.jpg,1,1700000000123456789,ok,,0."));
  EXPECT_THAT(lines[1], HasSubstr(",0.3333333333333333,"));
  EXPECT_THAT(lines[2], StartsWith("\"sub/b, \"\"c\"\".jpg\",2,"));
  EXPECT_THAT(lines[3], StartsWith("d e.jpg,3,,failed,no_features,,,,,,,,,,"));
  for (const auto& line : {lines[0], lines[1], lines[3]}) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 30) << line;
    EXPECT_TRUE(line.ends_with('\r'));
  }
  EXPECT_THAT(export_csv(sample_run(), {';'}), HasSubstr("a.jpg;1;"));
  EXPECT_EQ(refusal_of([] { export_csv({}, {'.'}); }), Reason::bad_option);
}

TEST(ExportGeojson, KeepsFailuresAndSplitsTheTrack) {
  const Json json = Json::parse(export_geojson(sample_run(), "as_recorded"));
  EXPECT_EQ(json["type"], "FeatureCollection");
  EXPECT_FALSE(json.contains("crs"));
  const Json& features = json["features"];
  ASSERT_EQ(features.size(), 5u);
  EXPECT_EQ(features[0]["geometry"]["coordinates"], Json::parse("[-91.9,46.80001,150.25]"));
  EXPECT_EQ(features[0]["properties"]["sigma_e"], 0.1);
  EXPECT_EQ(features[0]["properties"]["datum"], "as_recorded");
  EXPECT_TRUE(features[0]["properties"]["height_ellipsoid"].is_null());
  EXPECT_TRUE(features[2]["geometry"].is_null());
  EXPECT_EQ(features[2]["properties"]["reason"], "no_features");
  EXPECT_EQ(features[4]["geometry"]["type"], "MultiLineString");
  EXPECT_EQ(features[4]["geometry"]["coordinates"].size(), 1u);  // a-b; f stands alone
  EXPECT_EQ(features[4]["geometry"]["coordinates"][0].size(), 2u);
  const Json ellipsoid = Json::parse(export_geojson(sample_run(), "ellipsoid"));
  EXPECT_EQ(ellipsoid["features"][0]["properties"]["height_ellipsoid"], 150.25);
}

TEST(ExportGeojson, IsRefusedWithoutGeoregistration) {
  EXPECT_EQ(refusal_of([] { export_geojson(without_georegistration(sample_run()), "unknown"); }),
            Reason::missing_in_map);
}

// The rows that evo would read.
std::vector<std::vector<double>> tum_rows(const std::string& text) {
  std::vector<std::vector<double>> rows;
  for (const std::string& line : whole_lines(text)) {
    if (line.starts_with("#")) continue;
    EXPECT_FALSE(line.ends_with(' '));
    rows.emplace_back();
    for (const auto piece : split_blanks(line)) rows.back().push_back(*parse_double(piece));
    EXPECT_EQ(rows.back().size(), 8u);
  }
  return rows;
}

TEST(ExportTum, IsCameraToWorldWithWLast) {
  const auto records = without_georegistration(sample_run());
  const std::string text = export_tum(records, TumTime::exposure);
  EXPECT_THAT(text, HasSubstr("\n1700000000.123456789 "));
  EXPECT_THAT(text, HasSubstr("\n1700000001.000000001 "));
  const auto rows = tum_rows(text);
  ASSERT_EQ(rows.size(), 3u);
  const auto& row = rows[0];
  const Rigid3 world_from_cam{Eigen::Quaterniond(row[7], row[4], row[5], row[6]),
                              {row[1], row[2], row[3]}};
  const Rigid3 cam_from_world = world_from_cam.inverse();
  EXPECT_LT(rotation_angle(cam_from_world.rotation, records[0].fix.pose->cam_from_world.rotation),
            1e-7);
  EXPECT_THAT(world_from_cam.translation,
              VectorNear(records[0].fix.pose->cam_from_world.centre(), 1e-6));
}

TEST(ExportTum, UsesEnuWhereThereIsOne) {
  const auto rows = tum_rows(export_tum(sample_run(), TumTime::index));
  EXPECT_EQ(rows[0][0], 1);
  EXPECT_EQ(rows[2][0], 4);
  EXPECT_NEAR(rows[0][1], 10.1, 1e-12);
  const Eigen::Quaterniond q(rows[0][7], rows[0][4], rows[0][5], rows[0][6]);
  EXPECT_LT(rotation_angle(q.conjugate(), cam_from_enu({41.5, -88.25, 0.5})), 1e-7);
}

TEST(ExportTum, RefusesMissingAndStandingTimes) {
  auto records = sample_run();
  records[3].time_ns = records[1].time_ns;
  EXPECT_EQ(refusal_of([&] { export_tum(records, TumTime::exposure); }), Reason::bad_option);
  records[3].time_ns.reset();
  EXPECT_EQ(refusal_of([&] { export_tum(records, TumTime::exposure); }), Reason::bad_option);
  EXPECT_NO_THROW(export_tum(records, TumTime::index));
}

TEST(ExportHloc, ListsFailuresInACommentOnly) {
  const std::string text = export_hloc(sample_run(), {});
  const auto lines = whole_lines(text);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "# failed: d%20e.jpg");
  EXPECT_THAT(lines[1], StartsWith("a.jpg 0."));
  EXPECT_THAT(lines[2], StartsWith("sub/b,%20\"c\".jpg "));
  for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_EQ(split_blanks(lines[i]).size(), 8u);
  const Rigid3& pose = sample_run()[0].fix.pose->cam_from_world;
  EXPECT_EQ(parse_double(split_blanks(lines[1])[5]), pose.translation.x());
  EXPECT_EQ(parse_double(split_blanks(lines[1])[1]), pose.rotation.w());
}

TEST(ExportHloc, BaseNamesMustStayApart) {
  EXPECT_THAT(export_hloc(sample_run(), {true}), Not(HasSubstr("sub/")));
  auto records = sample_run();
  records[3].fix.name = "other/a.jpg";
  EXPECT_EQ(refusal_of([&] { export_hloc(records, {true}); }), Reason::bad_option);
  EXPECT_NO_THROW(export_hloc(records, {}));
}

}  // namespace
}  // namespace skyfix
