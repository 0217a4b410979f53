#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/image/metadata_testing.h"

namespace skyfix {
namespace {

using namespace testing_image;
using ::testing::Contains;
using ::testing::HasSubstr;

std::string packet(const std::string& spaces, const std::string& attributes) {
  return "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
         "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description "
         "rdf:about=\"\" " +
         spaces + " " + attributes + "/></rdf:RDF></x:xmpmeta>";
}
const std::string kDji = "xmlns:drone-dji=\"http://www.dji.com/drone-dji/1.0/\"";
const std::string kCamera = "xmlns:Camera=\"http://pix4d.com/camera/1.0\"";

TEST(Xmp, SynonymsOfThePosition) {
  for (const auto& [latitude, longitude] :
       {std::pair("Latitude", "Longitude"), std::pair("GpsLatitude", "GpsLongitude"),
        std::pair("GPSLatitude", "GPSLongitude"), std::pair("GpsLatitude", "GpsLongtitude")}) {
    const PhotoMetadata out = read_block(
        "", packet(kDji, std::string("drone-dji:") + latitude + "=\"-46.25\" drone-dji:" +
                             longitude + "=\"+91.5\" drone-dji:AbsoluteAltitude=\"+12.50\""));
    EXPECT_EQ(out.latitude_deg, -46.25) << latitude;
    EXPECT_EQ(out.longitude_deg, 91.5);
    EXPECT_EQ(out.altitude_m, 12.5);
    EXPECT_THAT(out.notes, Contains(HasSubstr("taken from XMP")));
  }
}

TEST(Xmp, ExifPositionComesFirst) {
  const PhotoMetadata out =
      read_block(gps_block({}), packet(kDji, "drone-dji:Latitude=\"1\" drone-dji:Longitude=\"2\""));
  EXPECT_DOUBLE_EQ(out.latitude_deg.value(), 46.5);
}

TEST(Xmp, OddValuesAreAbsentWithANote) {
  const PhotoMetadata out = read_block(
      "",
      packet(kDji,
             "drone-dji:GimbalYawDegree=\"nan\" drone-dji:GimbalPitchDegree=\"-12,5\" "
             "drone-dji:GimbalRollDegree=\"\" drone-dji:RelativeAltitude=\" +40.00 \" "
             "drone-dji:Latitude=\"99\" drone-dji:Longitude=\"5\" drone-dji:RtkFlag=\"1e300\""));
  EXPECT_FALSE(out.gimbal_yaw_deg);
  EXPECT_FALSE(out.gimbal_pitch_deg);
  EXPECT_FALSE(out.gimbal_roll_deg);
  EXPECT_FALSE(out.rtk_flag);
  EXPECT_EQ(out.relative_altitude_m, 40);
  EXPECT_FALSE(out.latitude_deg);
  EXPECT_THAT(out.notes, Contains(HasSubstr("not a number")));
  EXPECT_THAT(out.notes, Contains(HasSubstr("out of range")));
}

TEST(Xmp, PropertiesAsElements) {
  const std::string text =
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
      "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" " +
      kDji +
      "><drone-dji:GimbalYawDegree>+7.50</drone-dji:GimbalYawDegree></rdf:Description></rdf:RDF>"
      "</x:xmpmeta>";
  EXPECT_EQ(read_block("", text).gimbal_yaw_deg, 7.5);
}

TEST(Xmp, CameraSpaceHasItsZeroAtNadir) {
  const auto gimbal = [](const std::string& yaw, const std::string& pitch,
                         const std::string& roll) {
    return read_block("", packet(kCamera, "Camera:Yaw=\"" + yaw + "\" Camera:Pitch=\"" + pitch +
                                              "\" Camera:Roll=\"" + roll + "\""))
        .gimbal()
        .value();
  };
  // Straight down, the image's top to the east: the camera of gimbal angles (90, -90, 0).
  const auto down = cam_from_enu(gimbal("90", "0", "0"));
  EXPECT_LT(down.angularDistance(cam_from_enu({90, -90, 0})), 1e-6);
  // Tilted up by 60 degrees.
  const GimbalAngles tilted = gimbal("30", "60", "0");
  EXPECT_NEAR(tilted.yaw_deg, 30, 1e-9);
  EXPECT_NEAR(tilted.pitch_deg, -30, 1e-9);
  EXPECT_NEAR(tilted.roll_deg, 0, 1e-9);
  // Straight down and then rolled right side down by 10 degrees about the axis to the north: the
  // view axis leans to the west.
  const Eigen::Vector3d view =
      cam_from_enu(gimbal("0", "0", "10")).inverse() * Eigen::Vector3d::UnitZ();
  EXPECT_NEAR(view.x(), -std::sin(10 * 3.14159265358979 / 180), 1e-6);
  EXPECT_NEAR(view.y(), 0, 1e-6);
}

TEST(Xmp, DjiAnglesComeBeforeTheCameraSpace) {
  const PhotoMetadata out = read_block(
      "", packet(kDji + " " + kCamera,
                 "drone-dji:GimbalYawDegree=\"1\" drone-dji:GimbalPitchDegree=\"-80\" "
                 "drone-dji:GimbalRollDegree=\"0\" Camera:Yaw=\"50\" Camera:Pitch=\"10\" "
                 "Camera:Roll=\"0\""));
  EXPECT_EQ(out.gimbal_pitch_deg, -80);
}

TEST(Xmp, DamageNeverThrows) {
  const std::string text = packet(kDji, "drone-dji:GimbalYawDegree=\"1\"");
  for (std::size_t size = 1; size < text.size(); size += 5) read_block("", text.substr(0, size));
  EXPECT_THAT(read_block("", "<not xml").notes, Contains(HasSubstr("XMP packet is damaged")));
  std::string deep;
  for (int i = 0; i < 16000; ++i) deep += "<a>";
  EXPECT_THAT(read_block("", deep).notes, Contains(HasSubstr("damaged")));
}

TEST(Xmp, DisagreeingSignOfTheAltitudeIsNoted) {
  const PhotoMetadata out = read_block(gps_block({.altitude_reference = "\1"}),
                                       packet(kDji, "drone-dji:AbsoluteAltitude=\"+123.40\""));
  EXPECT_DOUBLE_EQ(out.altitude_m.value(), -123.4);
  EXPECT_THAT(out.notes, Contains(HasSubstr("disagree")));
}

}  // namespace
}  // namespace skyfix
