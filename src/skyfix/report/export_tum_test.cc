#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/base/text.h"
#include "skyfix/geo/testing.h"
#include "skyfix/report/export.h"
#include "skyfix/report/record_file.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using report_testing::sample_run;
using report_testing::without_georegistration;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace skyfix
