// The two halves of read_metadata. Private to this room.
#pragma once

#include <string>

#include "skyfix/image/metadata.h"

namespace skyfix {

// What XMP says in place of EXIF's GPS; used only where EXIF has none.
struct XmpPosition {
  std::optional<double> latitude_deg;
  std::optional<double> longitude_deg;
};

// Fills the EXIF fields from a block "Exif\0\0" + TIFF. Never throws for odd contents.
void read_exif(const std::string& block, PhotoMetadata& metadata);

// Fills the XMP fields from a packet. Never throws for odd contents.
XmpPosition read_xmp(const std::string& packet, PhotoMetadata& metadata);

// Printable ASCII with '?' for all else, blanks cut off: fit for records and messages.
std::string printable(std::string_view text);

}  // namespace skyfix
