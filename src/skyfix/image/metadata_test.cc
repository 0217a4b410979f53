#include "skyfix/image/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "skyfix/base/file.h"
#include "skyfix/image/metadata_testing.h"

namespace skyfix {
namespace {

using namespace testing_image;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Metadata, ExifComesBack) {
  const PhotoMetadata in = full_metadata();
  const PhotoMetadata out = round_trip(in);
  EXPECT_EQ(out.make, in.make);
  EXPECT_EQ(out.model, in.model);
  EXPECT_EQ(out.orientation, in.orientation);
  EXPECT_EQ(out.exif_width, in.exif_width);
  EXPECT_EQ(out.exif_height, in.exif_height);
  EXPECT_EQ(out.focal_length_mm, in.focal_length_mm);
  EXPECT_EQ(out.focal_length_35mm, in.focal_length_35mm);
  EXPECT_EQ(out.digital_zoom, in.digital_zoom);
  EXPECT_EQ(out.datetime_original, in.datetime_original);
  EXPECT_NEAR(out.latitude_deg.value(), *in.latitude_deg, 1e-10);
  EXPECT_NEAR(out.longitude_deg.value(), *in.longitude_deg, 1e-10);
  EXPECT_NEAR(out.altitude_m.value(), *in.altitude_m, 1e-9);
  EXPECT_EQ(out.altitude_ref, 0);
  EXPECT_THAT(out.notes, IsEmpty());
}

TEST(Metadata, XmpComesBackExactly) {
  const PhotoMetadata in = full_metadata();
  const PhotoMetadata out = round_trip(in);
  EXPECT_EQ(out.gimbal_yaw_deg, in.gimbal_yaw_deg);
  EXPECT_EQ(out.gimbal_pitch_deg, in.gimbal_pitch_deg);
  EXPECT_EQ(out.gimbal_roll_deg, in.gimbal_roll_deg);  // zero is not absent
  EXPECT_EQ(out.flight_yaw_deg, in.flight_yaw_deg);
  EXPECT_EQ(out.relative_altitude_m, in.relative_altitude_m);
  EXPECT_EQ(out.absolute_altitude_m, in.absolute_altitude_m);
  EXPECT_EQ(out.calibrated_focal_px, in.calibrated_focal_px);
  EXPECT_EQ(out.dewarp_flag, in.dewarp_flag);
  EXPECT_EQ(out.rtk_flag, in.rtk_flag);
  EXPECT_EQ(out.rtk_std_lon_m, in.rtk_std_lon_m);
  EXPECT_EQ(out.rtk_std_lat_m, in.rtk_std_lat_m);
  EXPECT_EQ(out.rtk_std_hgt_m, in.rtk_std_hgt_m);
}

TEST(Metadata, NothingSetIsNothingRead) {
  const PhotoMetadata out = round_trip({});
  EXPECT_FALSE(out.make || out.orientation || out.latitude_deg || out.altitude_m);
  EXPECT_FALSE(out.altitude_ref || out.gimbal_yaw_deg || out.dewarp_flag || out.digital_zoom);
  EXPECT_FALSE(out.position());
  EXPECT_FALSE(out.gimbal());
}

TEST(Metadata, ZeroYawIsNorthNotAbsent) {
  PhotoMetadata in;
  in.gimbal_yaw_deg = 0;
  in.gimbal_pitch_deg = -90;
  in.gimbal_roll_deg = 0;
  const PhotoMetadata out = round_trip(in);
  EXPECT_EQ(out.gimbal_yaw_deg, 0);
  ASSERT_TRUE(out.gimbal());
  EXPECT_EQ(out.gimbal()->pitch_deg, -90);
  EXPECT_FALSE(out.flight_yaw_deg);
}

TEST(Metadata, ThreeZeroAnglesAreNoGimbal) {
  PhotoMetadata in;
  in.gimbal_yaw_deg = in.gimbal_pitch_deg = in.gimbal_roll_deg = 0;
  const PhotoMetadata out = round_trip(in);
  EXPECT_EQ(out.gimbal_yaw_deg, 0);
  EXPECT_FALSE(out.gimbal());
  in.gimbal_roll_deg.reset();
  in.gimbal_pitch_deg = -90;
  EXPECT_FALSE(round_trip(in).gimbal());
}

TEST(Metadata, AllFourQuartersOfTheEarth) {
  for (const double latitude : {-51.25, 51.25}) {
    for (const double longitude : {-179.999999, -0.12, 179.999999}) {
      PhotoMetadata in;
      in.latitude_deg = latitude;
      in.longitude_deg = longitude;
      in.altitude_m = 5;
      const auto position = round_trip(in).position();
      ASSERT_TRUE(position);
      EXPECT_NEAR(position->latitude_deg, latitude, 1e-10);
      EXPECT_NEAR(position->longitude_deg, longitude, 1e-10);
      EXPECT_EQ(position->h_ellipsoid, 5);
    }
  }
}

TEST(Metadata, BelowSeaLevelInBothGenerationsOfTheStandard) {
  PhotoMetadata in;
  in.latitude_deg = 31.5;
  in.longitude_deg = 35.5;
  for (const double altitude : {-430.5, 430.5}) {
    for (const int generation : {0, 2}) {
      in.altitude_m = altitude;
      in.altitude_ref = generation;
      const PhotoMetadata out = round_trip(in);
      EXPECT_EQ(out.altitude_m, altitude);
      const int reference = generation + (altitude < 0 ? 1 : 0);
      EXPECT_EQ(out.altitude_ref, reference);
      if (reference != 0) {
        EXPECT_THAT(out.notes, Contains(HasSubstr("reference " + std::to_string(reference))));
      }
    }
  }
}

TEST(Metadata, ExactlyZeroZeroIsNoPosition) {
  PhotoMetadata in;
  in.latitude_deg = 0;
  in.longitude_deg = 0;
  const PhotoMetadata out = round_trip(in);
  EXPECT_EQ(out.latitude_deg, 0);
  EXPECT_FALSE(out.position());
  EXPECT_THAT(out.notes, Contains(HasSubstr("0, 0")));
  in.longitude_deg = 10;  // on the equator
  EXPECT_TRUE(round_trip(in).position());
}

TEST(Metadata, PositionWithoutAltitudeIsNoted) {
  PhotoMetadata in;
  in.latitude_deg = 10;
  in.longitude_deg = 20;
  const PhotoMetadata out = round_trip(in);
  ASSERT_TRUE(out.position());
  EXPECT_EQ(out.position()->h_ellipsoid, 0);
  EXPECT_FALSE(out.altitude_m);
  EXPECT_THAT(out.notes, Contains(HasSubstr("no altitude")));
}

TEST(MetadataFile, MissingOrAFolder) {
  const auto folder = scratch("metadata");
  EXPECT_EQ(reason_thrown_by([&] { read_metadata(folder / "none.jpg"); }), Reason::unreadable_file);
  EXPECT_EQ(reason_thrown_by([&] { read_metadata(folder); }), Reason::unreadable_file);
  write_file_atomic(folder / "text.jpg", "no photo");
  EXPECT_FALSE(read_metadata(folder / "text.jpg").make);
}

TEST(MetadataFile, PngChunks) {
  const std::string png = encode_png(waves(8, 8, 1));
  const auto chunk = [](const std::string& type, const std::string& data) {
    return tiff_bytes(static_cast<std::uint32_t>(data.size()), 4, true) + type + data + "crc?";
  };
  const std::string exif = make_exif_segment(full_metadata()).substr(kExifHead.size());
  const std::string xmp = make_xmp_segment(full_metadata()).substr(kXmpHead.size());
  std::string bytes = png;
  bytes.insert(33, chunk("eXIf", exif) +
                       chunk("iTXt", std::string("XML:com.adobe.xmp\0\0\0\0\0", 22) + xmp));
  const PhotoMetadata out = read_metadata_bytes(bytes_of(bytes));
  EXPECT_EQ(out.model, "FC6310R");
  EXPECT_EQ(out.gimbal_pitch_deg, -44.5);
}

TEST(MetadataFile, TiffEvenWhereItsTagsAreFarFromTheStart) {
  for (const bool big_endian : {false, true}) {
    // The block is itself a TIFF; a directory beyond 64 KiB needs its offsets moved.
    const std::string block = gps_block({.big_endian = big_endian}).substr(kExifHead.size());
    EXPECT_DOUBLE_EQ(read_metadata_bytes(bytes_of(block)).latitude_deg.value(), 46.5);
  }
  const std::string xmp = make_xmp_segment(full_metadata()).substr(kXmpHead.size());
  constexpr std::uint32_t kFar = 200'000;
  std::string far = "II*" + std::string(1, '\0') + tiff_bytes(kFar, 4, false);
  far.resize(kFar, 'x');
  far += tiff_bytes(2, 2, false);
  far += tiff_bytes(0x0110, 2, false) + tiff_bytes(2, 2, false) + tiff_bytes(4, 4, false) +
         std::string("M3E\0", 4);
  far += tiff_bytes(700, 2, false) + tiff_bytes(1, 2, false) +
         tiff_bytes(static_cast<std::uint32_t>(xmp.size()), 4, false) + tiff_bytes(8, 4, false);
  far += tiff_bytes(0, 4, false);
  far.replace(8, xmp.size(), xmp);
  const PhotoMetadata out = read_metadata_bytes(bytes_of(far));
  EXPECT_EQ(out.model, "M3E");
  EXPECT_EQ(out.rtk_flag, 50);
}

TEST(MetadataFile, RealDronePhotos) {
  SKYFIX_REQUIRE_PHOTOS(folder);
  std::ifstream in(*folder / "../../reference.json");
  const auto reference = nlohmann::json::parse(in);
  for (const auto& [name, query] : reference["queries"].items()) {
    const PhotoMetadata photo = read_metadata(*folder / name);
    const auto& gps = query["gps_exif"];
    const auto position = photo.position();
    ASSERT_TRUE(position) << name;
    EXPECT_NEAR(position->latitude_deg, gps["latitude_deg"].get<double>(), 1e-10);
    EXPECT_NEAR(position->longitude_deg, gps["longitude_deg"].get<double>(), 1e-10);
    EXPECT_NEAR(position->h_ellipsoid, gps["altitude_m"].get<double>(), 1e-9);
    EXPECT_EQ(photo.altitude_ref, 0);
    EXPECT_EQ(photo.make, "DJI");
    EXPECT_EQ(photo.model, "FC300S");
    EXPECT_EQ(photo.exif_width, 4000);  // the picture has 1600
    ASSERT_TRUE(photo.gimbal());
    EXPECT_NEAR(photo.gimbal()->pitch_deg, -89.9, 0.3);
    // The gimbal's yaw agrees with the pose within the compass's error; two of the photos were
    // turned upside down by a viewer since.
    const double difference_deg =
        photo.gimbal()->yaw_deg - query["image_up_azimuth_deg"].get<double>();
    EXPECT_NEAR(std::remainder(difference_deg, 180), 0, 8) << name;
    EXPECT_NEAR(photo.relative_altitude_m.value(), 40, 1);
  }
  const PhotoMetadata first = read_metadata(*folder / "DJI_0020.JPG");
  EXPECT_EQ(first.gimbal_yaw_deg, 44.2);
  EXPECT_EQ(first.flight_yaw_deg, 42.8);
  EXPECT_EQ(first.absolute_altitude_m, 198.61);
  EXPECT_EQ(first.datetime_original, "2016:06:23 16:32:13");
}

TEST(MetadataFile, ManyThreadsReadTheSame) {
  const std::string bytes = encode_jpeg(
      waves(8, 8, 1), 90, {make_exif_segment(full_metadata()), make_xmp_segment(full_metadata())});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const PhotoMetadata out = read_metadata_bytes(bytes_of(bytes));
        if (out.gimbal_yaw_deg == -179.9 && out.model == "FC6310R") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

}  // namespace
}  // namespace skyfix
