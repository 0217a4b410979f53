// Which format is it, is it small enough, and the wanted size: the formats themselves are next
// door.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/image/codec.h"
#include "skyfix/image/image.h"

namespace skyfix {
namespace fs = std::filesystem;
using codec::Bytes;

namespace {

struct Format {
  ImageInfo (*probe)(Bytes);
  Image (*decode)(Bytes, const DecodeOptions&);
};
constexpr Format kJpeg{codec::probe_jpeg, codec::decode_jpeg};
constexpr Format kPng{codec::probe_png, codec::decode_png};
constexpr Format kTiff{codec::probe_tiff, codec::decode_tiff};

bool starts_with(Bytes bytes, std::string_view magic) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with(magic);
}

// By the first bytes: names lie.
const Format& recognise(Bytes bytes) {
  using namespace std::string_view_literals;
  if (bytes.empty()) throw Error(Reason::corrupt_image, "the file is empty");
  if (starts_with(bytes, "\xff\xd8"sv)) return kJpeg;
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n"sv)) return kPng;
  for (const std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (starts_with(bytes, magic)) return kTiff;
  }
  throw Error(Reason::not_an_image, "this is neither a JPEG nor a PNG nor a TIFF image");
}

void require_within(const ImageInfo& info, double max_megapixels) {
  const double megapixels = 1e-6 * info.width * info.height;
  if (megapixels <= max_megapixels) return;
  throw Error(Reason::image_too_large,
              "the image has " + std::to_string(info.width) + " x " + std::to_string(info.height) +
                  " pixels, over the limit of " + std::to_string(std::llround(max_megapixels)) +
                  " megapixels (--max-megapixels)");
}

// The size with the wanted long side; never larger than the file's.
std::array<int, 2> fitted_size(const ImageInfo& info, int long_side) {
  const int longer = std::max(info.width, info.height);
  if (long_side <= 0 || longer <= long_side) return {info.width, info.height};
  return {codec::scaled_side(info.width, long_side, longer),
          codec::scaled_side(info.height, long_side, longer)};
}

// Runs `work`; an Error from it gets the file's name.
template <class Work>
auto naming(const fs::path& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (file.empty() || !error.file().empty()) throw;
    throw Error(error.reason(), error.message(), file);
  }
}

}  // namespace

ImageInfo probe_image_bytes(Bytes bytes, const fs::path& file) {
  return naming(file, [&] { return recognise(bytes).probe(bytes); });
}

ImageInfo probe_image(const fs::path& file) {
  return probe_image_bytes(MappedFile(file).bytes(), file);
}

Image decode_image_bytes(Bytes bytes, const DecodeOptions& options, const fs::path& file) {
  return naming(file, [&] {
    const Format& format = recognise(bytes);
    const ImageInfo info = format.probe(bytes);
    require_within(info, options.max_megapixels);
    Image image = format.decode(bytes, options);
    const auto [width, height] = fitted_size(info, options.long_side);
    if (image.width == width && image.height == height) return image;
    return resize(image, width, height);
  });
}

Image decode_image(const fs::path& file, const DecodeOptions& options) {
  return decode_image_bytes(MappedFile(file).bytes(), options, file);
}

Image codec::blank_image(int width, int height, int channels) {
  Image image;
  image.width = width;
  image.height = height;
  image.channels = channels;
  image.pixels.resize(std::size_t(width) * height * channels);
  return image;
}

Image codec::over_white(const Image& image, bool premultiplied) {
  const int colours = image.channels - 1;
  Image out = blank_image(image.width, image.height, colours);
  const std::uint8_t* from = image.pixels.data();
  for (std::uint8_t* to = out.pixels.data(); to != out.pixels.data() + out.pixels.size();) {
    const int alpha = from[colours];
    for (int c = 0; c < colours; ++c, ++from, ++to) {
      const int weight = premultiplied ? 255 : alpha;
      *to = static_cast<std::uint8_t>(
          std::min(255, (*from * weight + 255 * (255 - alpha) + 127) / 255));
    }
    ++from;
  }
  return out;
}

bool looks_like_image_name(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.empty() || name.front() == '.') return false;
  const std::string extension = to_lower(file.extension().string());
  constexpr std::array kExtensions = {".jpg", ".jpeg", ".png", ".tif", ".tiff"};
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

}  // namespace skyfix
