#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/report/export.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using report_testing::sample_run;
using report_testing::without_georegistration;

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

}  // namespace
}  // namespace skyfix
