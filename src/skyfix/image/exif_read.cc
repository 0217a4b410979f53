// EXIF through libexif (Exif 2.32 and 3.0, CIPA DC-008).
#include <libexif/exif-data.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "skyfix/image/metadata_parts.h"

namespace skyfix {
namespace {

class ExifReader {
 public:
  explicit ExifReader(const std::string& block) : data_(exif_data_new(), exif_data_unref) {
    // By default libexif adds the tags that the standard prescribes: then absent would look like
    // zero.
    exif_data_unset_option(data_.get(), EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
    exif_data_load_data(data_.get(), reinterpret_cast<const unsigned char*>(block.data()),
                        static_cast<unsigned>(block.size()));
    order_ = exif_data_get_byte_order(data_.get());
  }

  bool empty() const {
    for (const ExifContent* content : data_->ifd) {
      if (content != nullptr && content->count > 0) return false;
    }
    return true;
  }

  std::optional<std::string> text(ExifIfd ifd, int tag) const {
    const ExifEntry* entry = find(ifd, tag);
    if (entry == nullptr || entry->format != EXIF_FORMAT_ASCII) return std::nullopt;
    std::string value = printable({reinterpret_cast<const char*>(entry->data), entry->size});
    if (value.empty()) return std::nullopt;
    return value;
  }

  // The index-th number of a tag, whatever its format; 0/0 and x/0 are absent.
  std::optional<double> number(ExifIfd ifd, int tag, unsigned long index = 0) const {
    const ExifEntry* entry = find(ifd, tag);
    if (entry == nullptr || index >= entry->components) return std::nullopt;
    const std::size_t bytes = exif_format_get_size(entry->format);
    if (bytes == 0 || (index + 1) * bytes > entry->size) return std::nullopt;
    return decode(entry->format, entry->data + index * bytes);
  }

  std::optional<int> whole(ExifIfd ifd, int tag) const {
    const auto value = number(ifd, tag);
    if (!value || std::abs(*value) > 1e9) return std::nullopt;
    return static_cast<int>(*value);
  }

  bool has(ExifIfd ifd, int tag) const { return find(ifd, tag) != nullptr; }
  unsigned long components(ExifIfd ifd, int tag) const {
    const ExifEntry* entry = find(ifd, tag);
    return entry != nullptr ? entry->components : 0;
  }
  // The first byte of an entry; 0 where there is none.
  char first_byte(ExifIfd ifd, int tag) const {
    const ExifEntry* entry = find(ifd, tag);
    return entry != nullptr ? static_cast<char>(entry->data[0]) : '\0';
  }

 private:
  const ExifEntry* find(ExifIfd ifd, int tag) const {
    const ExifEntry* entry = exif_content_get_entry(data_->ifd[ifd], static_cast<ExifTag>(tag));
    const bool usable = entry != nullptr && entry->data != nullptr && entry->size > 0;
    return usable ? entry : nullptr;
  }

  std::optional<double> decode(ExifFormat format, const unsigned char* at) const {
    switch (format) {
      case EXIF_FORMAT_BYTE:
        return at[0];
      case EXIF_FORMAT_SHORT:
        return exif_get_short(at, order_);
      case EXIF_FORMAT_SSHORT:
        return exif_get_sshort(at, order_);
      case EXIF_FORMAT_LONG:
        return exif_get_long(at, order_);
      case EXIF_FORMAT_SLONG:
        return exif_get_slong(at, order_);
      case EXIF_FORMAT_RATIONAL: {
        const ExifRational ratio = exif_get_rational(at, order_);
        if (ratio.denominator == 0) return std::nullopt;
        return double(ratio.numerator) / ratio.denominator;
      }
      case EXIF_FORMAT_SRATIONAL: {
        const ExifSRational ratio = exif_get_srational(at, order_);
        if (ratio.denominator == 0) return std::nullopt;
        return double(ratio.numerator) / ratio.denominator;
      }
      default:
        return std::nullopt;
    }
  }

  std::unique_ptr<ExifData, void (*)(ExifData*)> data_;
  ExifByteOrder order_ = EXIF_BYTE_ORDER_INTEL;
};

std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0 ? value : std::nullopt;
}
std::optional<int> positive(std::optional<int> value) {
  return value && *value > 0 ? value : std::nullopt;
}

// One of latitude and longitude: degrees, minutes and seconds, and the letter of the hemisphere.
struct Axis {
  const char* name;
  int tag;
  int reference_tag;
  char plus;
  char minus;
  double limit_deg;
};
constexpr Axis kLatitude{"latitude", EXIF_TAG_GPS_LATITUDE, EXIF_TAG_GPS_LATITUDE_REF, 'N', 'S',
                         90};
constexpr Axis kLongitude{"longitude", EXIF_TAG_GPS_LONGITUDE, EXIF_TAG_GPS_LONGITUDE_REF, 'E', 'W',
                          180};

std::optional<double> read_axis(const ExifReader& exif, const Axis& axis, PhotoMetadata& metadata) {
  if (!exif.has(EXIF_IFD_GPS, axis.tag)) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    metadata.notes.push_back(std::string("GPS ") + axis.name + " " + why + ": not used");
    return std::nullopt;
  };
  double magnitude_deg = 0;
  constexpr double kUnits[] = {1.0, 60.0, 3600.0};
  // Some writers give degrees, or degrees and minutes, with decimals and nothing after them.
  const unsigned long parts = std::min(exif.components(EXIF_IFD_GPS, axis.tag), 3ul);
  for (unsigned long i = 0; i < parts; ++i) {
    const auto part = exif.number(EXIF_IFD_GPS, axis.tag, i);
    if (!part) return refuse("has a value that cannot be read (such as 0/0)");
    magnitude_deg += *part / kUnits[i];
  }
  const char letter = exif.first_byte(EXIF_IFD_GPS, axis.reference_tag);
  const char hemisphere = static_cast<char>(letter & ~0x20);  // upper case
  if (hemisphere != axis.plus && hemisphere != axis.minus) {
    return refuse("has no hemisphere (its reference tag is missing)");
  }
  if (magnitude_deg < 0 || magnitude_deg > axis.limit_deg) return refuse("is out of range");
  return hemisphere == axis.plus ? magnitude_deg : -magnitude_deg;
}

// 0, 1 (Exif 2) and 2, 3 (Exif 3): odd is below. Some writers put the digit as text.
std::optional<int> read_altitude_reference(const ExifReader& exif, PhotoMetadata& metadata) {
  if (!exif.has(EXIF_IFD_GPS, EXIF_TAG_GPS_ALTITUDE_REF)) return std::nullopt;
  int value = static_cast<unsigned char>(exif.first_byte(EXIF_IFD_GPS, EXIF_TAG_GPS_ALTITUDE_REF));
  if (const auto wide = exif.whole(EXIF_IFD_GPS, EXIF_TAG_GPS_ALTITUDE_REF)) value = *wide;
  if (value >= '0' && value <= '3') value -= '0';
  if (value < 0 || value > 3) {
    metadata.notes.push_back("GPS altitude reference " + std::to_string(value) +
                             " is unknown: taken as above");
    return std::nullopt;
  }
  if (value != 0) metadata.notes.push_back("altitude reference " + std::to_string(value));
  return value;
}

void read_altitude(const ExifReader& exif, PhotoMetadata& metadata) {
  metadata.altitude_ref = read_altitude_reference(exif, metadata);
  if (!exif.has(EXIF_IFD_GPS, EXIF_TAG_GPS_ALTITUDE)) return;
  const auto value = exif.number(EXIF_IFD_GPS, EXIF_TAG_GPS_ALTITUDE);
  if (!value) {
    metadata.notes.push_back("GPS altitude is 0/0: not used");
    return;
  }
  const bool below = metadata.altitude_ref.value_or(0) % 2 == 1;
  // A signed value that is negative already says "below" itself.
  metadata.altitude_m = below ? -std::abs(*value) : *value;
}

void read_camera(const ExifReader& exif, PhotoMetadata& metadata) {
  metadata.make = exif.text(EXIF_IFD_0, EXIF_TAG_MAKE);
  metadata.model = exif.text(EXIF_IFD_0, EXIF_TAG_MODEL);
  metadata.orientation = exif.whole(EXIF_IFD_0, EXIF_TAG_ORIENTATION);
  if (metadata.orientation && (*metadata.orientation < 1 || *metadata.orientation > 8)) {
    metadata.notes.push_back("EXIF orientation " + std::to_string(*metadata.orientation) +
                             " is not one of 1 to 8: not used");
    metadata.orientation.reset();
  }
  const auto number = [&](int tag) { return exif.number(EXIF_IFD_EXIF, tag); };
  metadata.exif_width = positive(exif.whole(EXIF_IFD_EXIF, EXIF_TAG_PIXEL_X_DIMENSION));
  metadata.exif_height = positive(exif.whole(EXIF_IFD_EXIF, EXIF_TAG_PIXEL_Y_DIMENSION));
  metadata.focal_length_mm = positive(number(EXIF_TAG_FOCAL_LENGTH));
  metadata.focal_length_35mm = positive(number(EXIF_TAG_FOCAL_LENGTH_IN_35MM_FILM));
  metadata.digital_zoom = number(EXIF_TAG_DIGITAL_ZOOM_RATIO);
  if (metadata.digital_zoom == 0.0) metadata.digital_zoom = 1.0;
  metadata.datetime_original = exif.text(EXIF_IFD_EXIF, EXIF_TAG_DATE_TIME_ORIGINAL);
}

}  // namespace

void read_exif(const std::string& block, PhotoMetadata& metadata) {
  const ExifReader exif(block);
  if (exif.empty()) {
    metadata.notes.push_back("the EXIF block is damaged: not used");
    return;
  }
  read_camera(exif, metadata);
  metadata.latitude_deg = read_axis(exif, kLatitude, metadata);
  metadata.longitude_deg = read_axis(exif, kLongitude, metadata);
  read_altitude(exif, metadata);
}

}  // namespace skyfix
