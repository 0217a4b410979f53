// Any bytes: decoding gives a consistent image or an Error, within the pixel limit.
#include <cstdlib>

#include "skyfix/base/error.h"
#include "skyfix/image/image.h"

namespace {

void try_decode(std::span<const std::byte> bytes, const skyfix::DecodeOptions& options) {
  try {
    const skyfix::Image image = skyfix::decode_image_bytes(bytes, options);
    const auto wanted = std::size_t(image.width) * image.height * image.channels;
    if (image.pixels.size() != wanted || wanted == 0) std::abort();
    if (image.channels != (options.grey ? 1 : 3)) std::abort();
  } catch (const skyfix::Error& error) {
    if (error.reason() == skyfix::Reason::internal) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr double kMaxMegapixels = 0.25;
  try_decode(bytes, {.grey = true, .max_megapixels = kMaxMegapixels});
  try_decode(bytes, {.grey = false, .max_megapixels = kMaxMegapixels, .long_side = 50});
  return 0;
}
