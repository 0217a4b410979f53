// EXIF blocks, for simulated photos and tests.
#include <cmath>
#include <initializer_list>

#include "skyfix/image/metadata.h"
#include "skyfix/image/tiff_tags.h"

namespace skyfix {
namespace {

constexpr bool kBigEndian = false;

struct Ratio {
  std::uint32_t numerator = 0;
  std::uint32_t denominator = 1;
};

// The nearest ratio with that denominator, at most the largest one there is.
Ratio ratio_of(double value, std::uint32_t denominator) {
  constexpr double kMax = 4294967295.0;
  const double scaled = std::round(value * denominator);
  return {static_cast<std::uint32_t>(std::min(std::max(scaled, 0.0), kMax)), denominator};
}

// A directory and what we put into one.
struct Writer {
  TiffDirectory directory;

  void add(std::uint16_t tag, TiffType type, std::size_t count, std::string value) {
    directory.add({tag, static_cast<std::uint16_t>(type), static_cast<std::uint32_t>(count),
                   std::move(value)});
  }
  void text(std::uint16_t tag, const std::optional<std::string>& value) {
    if (value) add(tag, TiffType::ascii, value->size() + 1, *value + '\0');
  }
  void byte(std::uint16_t tag, int value) {
    add(tag, TiffType::byte, 1, tiff_bytes(static_cast<std::uint32_t>(value), 1, kBigEndian));
  }
  void short_number(std::uint16_t tag, std::optional<double> value) {
    if (!value) return;
    const auto rounded = static_cast<std::uint32_t>(std::lround(*value));
    add(tag, TiffType::short_, 1, tiff_bytes(rounded, 2, kBigEndian));
  }
  void long_number(std::uint16_t tag, std::optional<int> value) {
    if (!value) return;
    add(tag, TiffType::long_, 1, tiff_bytes(static_cast<std::uint32_t>(*value), 4, kBigEndian));
  }
  void ratios(std::uint16_t tag, std::initializer_list<Ratio> values) {
    std::string bytes;
    for (const Ratio& ratio : values) {
      bytes += tiff_bytes(ratio.numerator, 4, kBigEndian);
      bytes += tiff_bytes(ratio.denominator, 4, kBigEndian);
    }
    add(tag, TiffType::rational, values.size(), bytes);
  }
  void number(std::uint16_t tag, std::optional<double> value) {
    if (value) ratios(tag, {ratio_of(*value, 10000)});
  }
};

// Degrees, minutes and seconds; a seventh decimal of a second is 3 micrometres on the ground.
void add_axis(Writer& gps, std::uint16_t reference_tag, const char* letters, double value_deg) {
  const double magnitude = std::abs(value_deg);
  const double degrees = std::floor(magnitude);
  const double minutes = std::floor((magnitude - degrees) * 60);
  const double seconds = ((magnitude - degrees) * 60 - minutes) * 60;
  gps.text(reference_tag, std::string(1, letters[value_deg < 0 ? 1 : 0]));
  gps.ratios(static_cast<std::uint16_t>(reference_tag + 1),
             {ratio_of(degrees, 1), ratio_of(minutes, 1), ratio_of(seconds, 10'000'000)});
}

TiffDirectory gps_directory(const PhotoMetadata& metadata) {
  Writer gps;
  const bool has_position = metadata.latitude_deg && metadata.longitude_deg;
  if (!has_position && !metadata.altitude_m) return {};
  gps.add(0x0000, TiffType::byte, 4, std::string("\2\3\0\0", 4));  // GPSVersionID
  if (has_position) {
    add_axis(gps, 0x0001, "NS", *metadata.latitude_deg);
    add_axis(gps, 0x0003, "EW", *metadata.longitude_deg);
  }
  if (metadata.altitude_m) {
    // The value's sign decides; what the reference says beyond it is kept.
    const int below = *metadata.altitude_m < 0 ? 1 : 0;
    gps.byte(0x0005, (metadata.altitude_ref.value_or(0) & 2) | below);
    gps.number(0x0006, std::abs(*metadata.altitude_m));
  }
  return gps.directory;
}

TiffDirectory exif_directory(const PhotoMetadata& metadata) {
  Writer exif;
  exif.text(0x9003, metadata.datetime_original);
  exif.number(0x920a, metadata.focal_length_mm);
  exif.long_number(0xa002, metadata.exif_width);
  exif.long_number(0xa003, metadata.exif_height);
  exif.number(0xa404, metadata.digital_zoom);
  exif.short_number(0xa405, metadata.focal_length_35mm);
  return exif.directory;
}

}  // namespace

std::string make_exif_segment(const PhotoMetadata& metadata) {
  Writer main;
  main.text(0x010f, metadata.make);
  main.text(0x0110, metadata.model);
  main.short_number(0x0112, metadata.orientation);
  return build_exif_block(kBigEndian, std::move(main.directory), exif_directory(metadata),
                          gps_directory(metadata));
}

}  // namespace skyfix
