#include "skyfix/image/metadata.h"

#include <algorithm>
#include <cmath>

#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/image/metadata_parts.h"
#include "skyfix/image/photo_blocks.h"

namespace skyfix {
namespace {

// Cameras without a fix write exact zeros; nobody flies at 0 N 0 E.
bool null_island(const PhotoMetadata& metadata) {
  return metadata.latitude_deg == 0.0 && metadata.longitude_deg == 0.0;
}

void fill_position_from_xmp(const XmpPosition& xmp, PhotoMetadata& metadata) {
  const bool has_own = metadata.latitude_deg && metadata.longitude_deg && !null_island(metadata);
  if (has_own || !xmp.latitude_deg || !xmp.longitude_deg) return;
  metadata.latitude_deg = xmp.latitude_deg;
  metadata.longitude_deg = xmp.longitude_deg;
  metadata.notes.push_back("EXIF has no GPS position; taken from XMP");
}

void settle_altitude(PhotoMetadata& metadata) {
  if (!metadata.latitude_deg || !metadata.longitude_deg) return;
  const auto& absolute = metadata.absolute_altitude_m;
  if (!metadata.altitude_m && absolute) {
    metadata.altitude_m = absolute;
    metadata.notes.push_back("EXIF has no GPS altitude; taken from XMP's absolute altitude");
  } else if (!metadata.altitude_m) {
    metadata.notes.push_back("the GPS position has no altitude");
  } else if (absolute && *metadata.altitude_m * *absolute < 0 &&
             std::abs(*metadata.altitude_m - *absolute) > 2) {
    metadata.notes.push_back(
        "EXIF and XMP disagree about the sign of the altitude: check GPSAltitudeRef");
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string clean(text.substr(0, text.find('\0')));
  for (char& c : clean) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return std::string(trim(clean));
}

std::optional<Wgs84> PhotoMetadata::position() const {
  if (!latitude_deg || !longitude_deg || null_island(*this)) return std::nullopt;
  const Wgs84 position{*latitude_deg, *longitude_deg, altitude_m.value_or(0.0)};
  if (!position.valid()) return std::nullopt;
  return position;
}

std::optional<GimbalAngles> PhotoMetadata::gimbal() const {
  if (!gimbal_yaw_deg || !gimbal_pitch_deg || !gimbal_roll_deg) return std::nullopt;
  const GimbalAngles angles{*gimbal_yaw_deg, *gimbal_pitch_deg, *gimbal_roll_deg};
  if (angles.yaw_deg == 0 && angles.pitch_deg == 0 && angles.roll_deg == 0) return std::nullopt;
  return angles;
}

PhotoMetadata read_metadata_bytes(std::span<const std::byte> bytes) {
  const PhotoBlocks blocks = find_photo_blocks(bytes);
  PhotoMetadata metadata;
  if (!blocks.exif.empty()) read_exif(blocks.exif, metadata);
  if (!blocks.xmp.empty()) {
    fill_position_from_xmp(read_xmp(blocks.xmp, metadata), metadata);
  }
  if (null_island(metadata)) metadata.notes.push_back("the GPS position is exactly 0, 0: not used");
  settle_altitude(metadata);
  return metadata;
}

PhotoMetadata read_metadata(const std::filesystem::path& file) {
  return read_metadata_bytes(MappedFile(file).bytes());
}

}  // namespace skyfix
