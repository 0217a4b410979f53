#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/base/text.h"
#include "skyfix/report/export.h"
#include "skyfix/report/record_file.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using report_testing::sample_run;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ExportHloc, ListsFailuresInACommentOnly) {
  const std::string text = export_hloc(sample_run(), {});
  const auto lines = whole_lines(text);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "# failed: d%20e.jpg");
  EXPECT_THAT(lines[1], StartsWith("a.jpg 0."));
  EXPECT_THAT(lines[2], StartsWith("sub/b,%20\"c\".jpg "));
  for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_EQ(split_blanks(lines[i]).size(), 8u);
  const Rigid3 pose = sample_run()[0].fix.pose->cam_from_world;
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
