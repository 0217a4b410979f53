// What a photo says about itself: EXIF (libexif) and XMP (exempi). "Absent" and "zero" are kept
// apart: every value is optional, 0/0 rationals are absent.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skyfix/geo/geodesy.h"

namespace skyfix {

struct PhotoMetadata {
  // EXIF
  std::optional<std::string> make;
  std::optional<std::string> model;
  std::optional<int> orientation;  // 1..8; never applied to the pixels
  std::optional<int> exif_width;   // what EXIF claims, which may not be the picture's size
  std::optional<int> exif_height;
  std::optional<double> focal_length_mm;
  std::optional<double> focal_length_35mm;
  std::optional<double> digital_zoom;            // 1 where the file says 0, "not used"
  std::optional<std::string> datetime_original;  // as written, "YYYY:MM:DD HH:MM:SS"
  // GPS, signs from the reference tags (without one: absent). Where EXIF has none, XMP's position
  // or absolute altitude stands here, with a note.
  std::optional<double> latitude_deg;
  std::optional<double> longitude_deg;
  std::optional<double> altitude_m;
  std::optional<int> altitude_ref;  // the tag's value: 0 above, 1 below, 2/3 the same in EXIF 3
  // XMP (DJI and its synonyms). Gimbal angles of Pix4D's Camera namespace, whose pitch is 0 at
  // nadir, are turned into these where the file has no others.
  std::optional<double> gimbal_yaw_deg;
  std::optional<double> gimbal_pitch_deg;
  std::optional<double> gimbal_roll_deg;
  std::optional<double> flight_yaw_deg;
  std::optional<double> relative_altitude_m;
  std::optional<double> absolute_altitude_m;
  std::optional<double> calibrated_focal_px;
  std::optional<int> dewarp_flag;
  std::optional<int> rtk_flag;
  std::optional<double> rtk_std_lon_m;
  std::optional<double> rtk_std_lat_m;
  std::optional<double> rtk_std_hgt_m;
  // Oddities worth a word to the user ("GPS is 0/0", "altitude reference 1").
  std::vector<std::string> notes;

  // Position if latitude and longitude are there and in range (exactly 0,0 counts as absent);
  // altitude 0 and noted when there is none.
  std::optional<Wgs84> position() const;
  // All three gimbal angles, else absent; three exact zeros count as absent (some payloads).
  std::optional<GimbalAngles> gimbal() const;
};

// Never throws for odd contents: what cannot be read is absent, with a note. Throws
// Error(unreadable_file) only when the file cannot be opened.
PhotoMetadata read_metadata(const std::filesystem::path& file);
// The same from a file's bytes; never throws for its contents. Safe to call from several threads.
PhotoMetadata read_metadata_bytes(std::span<const std::byte> bytes);

// The payload of an EXIF APP1 segment ("Exif\0\0" + TIFF) with what is set in `metadata`: make,
// model, orientation, size, focal lengths, time, GPS.
std::string make_exif_segment(const PhotoMetadata& metadata);
// The payload of an XMP APP1 segment with DJI's drone tags that are set in `metadata`.
std::string make_xmp_segment(const PhotoMetadata& metadata);

}  // namespace skyfix
