#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "skyfix/report/export.h"
#include "skyfix/report/record_file.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using report_testing::sample_run;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

}  // namespace
}  // namespace skyfix
