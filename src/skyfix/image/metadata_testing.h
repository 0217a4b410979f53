// Shared by the tests of the metadata.
#pragma once

#include <string>
#include <vector>

#include "skyfix/image/image.h"
#include "skyfix/image/metadata.h"
#include "skyfix/image/photo_blocks.h"
#include "skyfix/image/testing.h"
#include "skyfix/image/tiff_tags.h"

namespace skyfix::testing_image {

// A small JPEG with these metadata, read back.
inline PhotoMetadata round_trip(const PhotoMetadata& metadata) {
  const std::string bytes =
      encode_jpeg(waves(16, 16, 3), 90, {make_exif_segment(metadata), make_xmp_segment(metadata)});
  return read_metadata_bytes(bytes_of(bytes));
}

inline PhotoMetadata full_metadata() {
  PhotoMetadata metadata;
  metadata.make = "DJI";
  metadata.model = "FC6310R";
  metadata.orientation = 6;
  metadata.exif_width = 5472;
  metadata.exif_height = 3648;
  metadata.focal_length_mm = 8.8;
  metadata.focal_length_35mm = 24;
  metadata.digital_zoom = 1.5;
  metadata.datetime_original = "2024:02:29 23:59:58";
  metadata.latitude_deg = -33.856784312345;
  metadata.longitude_deg = 151.215296798765;
  metadata.altitude_m = 87.1234;
  metadata.gimbal_yaw_deg = -179.9;
  metadata.gimbal_pitch_deg = -44.5;
  metadata.gimbal_roll_deg = 0;
  metadata.flight_yaw_deg = 12.25;
  metadata.relative_altitude_m = 40.1;
  metadata.absolute_altitude_m = 198.61;
  metadata.calibrated_focal_px = 3666.666504;
  metadata.dewarp_flag = 0;
  metadata.rtk_flag = 50;
  metadata.rtk_std_lon_m = 0.00981;
  metadata.rtk_std_lat_m = 0.01123;
  metadata.rtk_std_hgt_m = 0.02317;
  return metadata;
}

inline std::string ratio(std::uint32_t numerator, std::uint32_t denominator, bool big_endian) {
  return tiff_bytes(numerator, 4, big_endian) + tiff_bytes(denominator, 4, big_endian);
}

// EXIF that make_exif_segment would not write.
struct GpsSpec {
  bool big_endian = false;
  std::string latitude_letter = "N";
  std::uint32_t seconds_denominator = 1;
  std::string altitude_reference{"\0", 1};
  std::uint16_t altitude_reference_type = 1;  // BYTE
  std::uint32_t altitude_denominator = 10;
  std::uint32_t latitude_degrees = 46;
};

inline std::string gps_block(const GpsSpec& spec) {
  const bool big = spec.big_endian;
  TiffDirectory gps;
  if (!spec.latitude_letter.empty()) gps.add({1, 2, 2, spec.latitude_letter + '\0'});
  gps.add({2, 5, 3,
           ratio(spec.latitude_degrees, 1, big) + ratio(30, 1, big) +
               ratio(0, spec.seconds_denominator, big)});
  gps.add({3, 2, 2, std::string("W\0", 2)});
  gps.add({4, 5, 3, ratio(91, 1, big) + ratio(15, 1, big) + ratio(36, 1, big)});
  gps.add({5, spec.altitude_reference_type,
           static_cast<std::uint32_t>(spec.altitude_reference.size()), spec.altitude_reference});
  gps.add({6, 5, 1, ratio(1234, spec.altitude_denominator, big)});
  TiffDirectory main;
  main.add({0x0112, 3, 1, tiff_bytes(9, 2, big)});
  return build_exif_block(big, main, {}, gps);
}

inline PhotoMetadata read_block(const std::string& exif, const std::string& xmp = {}) {
  std::vector<std::string> segments;
  if (!exif.empty()) segments.push_back(exif);
  if (!xmp.empty()) segments.push_back(std::string(kXmpHead) + xmp);
  const std::string bytes = encode_jpeg(waves(8, 8, 1), 90, segments);
  return read_metadata_bytes(bytes_of(bytes));
}

}  // namespace skyfix::testing_image
