#include "skyfix/report/map_sketch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "skyfix/base/file.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A survey of parallel lines over a field with a road.
MapSketch survey() {
  MapSketch sketch;
  sketch.title = "Field & road <run 1>";
  for (int i = 0; i < 3000; ++i) {
    const double x = (i * 37) % 200 + 0.3 * (i % 7);
    const double y = (i * 91) % 150 + 0.4 * (i % 5);
    const bool road = std::abs(y - 0.4 * x - 30) < 6;
    sketch.points.push_back({{x, y},
                             {std::uint8_t(road ? 90 : 60), std::uint8_t(road ? 90 : 130),
                              std::uint8_t(road ? 95 : 50)}});
  }
  for (int i = 0; i < 20; ++i)
    sketch.map_cameras.push_back({10 + 45.0 * (i % 5), 15 + 40.0 * (i / 5)});
  for (int i = 0; i < 12; ++i) {
    MapSketch::Frame frame;
    frame.name = "flight 2/DJI_" + std::to_string(100 + i) + ".JPG";
    if (i == 5 || i == 6) {
      frame.status = i == 5 ? FixStatus::failed : FixStatus::rejected;
      frame.reason = i == 5 ? "too_few_matches" : "too_few_inliers";
    } else {
      frame.status = FixStatus::ok;
      frame.position = Eigen::Vector2d(20 + 14 * i, 60 + 20 * std::sin(i * 0.6));
      frame.heading = Eigen::Vector2d(1, 0.3);
      frame.covariance = (Eigen::Matrix2d() << 9 + i, 4, 4, 5).finished() * 0.6;
      frame.reference = *frame.position + Eigen::Vector2d(3, -2);
    }
    sketch.frames.push_back(frame);
  }
  return sketch;
}

// Every tag closed in order: enough of XML for what is written here.
bool tags_balance(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.starts_with("?") || tag.ends_with("/")) continue;
    const std::string name = tag.substr(0, tag.find(' '));
    if (!name.starts_with("/")) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name.substr(1)) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(MapSketch, DrawsFixesEllipsesReferencesAndFailures) {
  const std::string svg = map_sketch_svg(survey());
  EXPECT_TRUE(tags_balance(svg));
  EXPECT_THAT(svg, AllOf(HasSubstr("Field &amp; road &lt;run 1&gt;"), HasSubstr("Without a fix: 2"),
                         HasSubstr("failed: too_few_matches"), HasSubstr(">N</text>"),
                         HasSubstr("10 of 12 frames"), HasSubstr(">20 m<"), Not(HasSubstr("nan"))));
  EXPECT_EQ(count_of(svg, "<ellipse"), 11u);  // with the legend's
  EXPECT_EQ(count_of(svg, "class=\"fix\""), 11u);
  EXPECT_EQ(count_of(svg, "class=\"reference\""), 11u);
  EXPECT_EQ(count_of(svg, "class=\"camera\""), 21u);
}

TEST(MapSketch, EllipseHolds95PercentAlongItsAxes) {
  MapSketch sketch;
  MapSketch::Frame frame;
  frame.status = FixStatus::ok;
  frame.position = Eigen::Vector2d(0, 0);
  frame.covariance = Eigen::Vector2d(1, 4).asDiagonal().toDenseMatrix();  // longer to the north
  sketch.frames = {frame};
  sketch.map_cameras = {{-36.2, 0}, {36.2, 0}};  // 72.4 units over 724 pixels: ten pixels a unit
  const std::string svg = map_sketch_svg(sketch);
  EXPECT_THAT(svg, HasSubstr("rx=\"48.95\" ry=\"24.48\""));
  EXPECT_THAT(svg, ::testing::ContainsRegex("rotate\\(-?90.0\\)"));
}

TEST(MapSketch, TrackBreaksWhereAFixIsMissing) {
  const std::string svg = map_sketch_svg(survey());
  const std::size_t begin = svg.find("class=\"track\"");
  const std::string path = svg.substr(begin, svg.find("/>", begin) - begin);
  EXPECT_EQ(count_of(path, "M"), 2u);
  EXPECT_EQ(count_of(path, "L"), 8u);
}

TEST(MapSketch, HostileContentStaysValid) {
  MapSketch sketch;
  sketch.title = "]]></style><script>alert(1)</script>";
  sketch.points = {{{kNan, 1}, {}}, {{1e300, -1e300}, {}}};
  sketch.map_cameras = {{kNan, kNan}};
  for (int i = 0; i < 100; ++i) {
    MapSketch::Frame frame;
    frame.name = std::string("\xFF\x01<&\"'>") + std::string(300, 'y');
    frame.status = i % 2 == 0 ? FixStatus::ok : FixStatus::failed;
    if (i % 2 == 0) frame.position = Eigen::Vector2d(kNan, i);
    if (i % 4 == 0) frame.position = Eigen::Vector2d(i, i);
    frame.covariance = Eigen::Matrix2d::Constant(kNan);
    sketch.frames.push_back(frame);
  }
  const std::string svg = map_sketch_svg(sketch);
  EXPECT_TRUE(tags_balance(svg));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script")), HasSubstr("and 32 more"), Not(HasSubstr("nan")),
                         Not(HasSubstr("inf"))));
}

TEST(MapSketch, AnEmptyRunIsDrawnToo) {
  MapSketch sketch;
  sketch.north_up = false;
  sketch.unit = "map units";
  sketch.x_axis = "x";
  sketch.y_axis = "z";
  const std::string svg = map_sketch_svg(sketch);
  EXPECT_TRUE(tags_balance(svg));
  EXPECT_THAT(svg,
              AllOf(HasSubstr("map units"), Not(HasSubstr(">N</text>")), HasSubstr(">z</text>")));
}

}  // namespace
}  // namespace skyfix
