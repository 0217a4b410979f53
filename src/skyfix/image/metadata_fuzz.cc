// Any bytes: reading metadata never throws, and what is returned is usable.
#include <cmath>
#include <cstdlib>

#include "skyfix/image/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto metadata = skyfix::read_metadata_bytes(std::as_bytes(std::span(data, size)));
  if (const auto position = metadata.position(); position && !position->valid()) std::abort();
  if (const auto gimbal = metadata.gimbal()) {
    if (!std::isfinite(gimbal->yaw_deg + gimbal->pitch_deg + gimbal->roll_deg)) std::abort();
  }
  // What was read can be written and read again.
  if (skyfix::make_exif_segment(metadata).empty()) std::abort();
  if (skyfix::make_xmp_segment(metadata).empty()) std::abort();
  return 0;
}
