// Pixels in memory, decoding, encoding and resizing. Pixels are as stored in the file: the EXIF
// orientation tag is never applied (COLMAP's rule).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

// 8-bit picture, row-major, interleaved. channels: 1 (grey) or 3 (RGB).
struct Image {
  int width = 0;
  int height = 0;
  int channels = 1;
  std::vector<std::uint8_t> pixels;

  std::uint8_t* row(int y) { return pixels.data() + std::size_t(y) * width * channels; }
  const std::uint8_t* row(int y) const { return pixels.data() + std::size_t(y) * width * channels; }
};

struct ImageInfo {
  int width = 0;
  int height = 0;
  std::string format;  // "jpeg", "png", "tiff"
};

// What becomes of transparency.
enum class Alpha {
  drop,        // the colours as they are stored
  over_white,  // laid over opaque white, rounded
};

struct DecodeOptions {
  bool grey = true;             // else RGB
  double max_megapixels = 400;  // more is refused before any allocation
  // The long side wanted, 0 = full size. A JPEG is decoded at the nearest larger n/8 scale and then
  // resized, others are resized after decoding; the result's long side is exactly this where the
  // file is larger, and the file's own size where it is smaller.
  int long_side = 0;
  Alpha alpha = Alpha::drop;
};

// Format and size from the header alone. Throws Error(unreadable_file | not_an_image |
// corrupt_image).
ImageInfo probe_image(const std::filesystem::path& file);

// JPEG (grey, YCbCr, CMYK), PNG (8 and 16 bit, palette), TIFF. 16-bit samples are
// reduced to 8. Throws Error(unreadable_file | not_an_image | corrupt_image | unsupported_image |
// image_too_large). A cut-off JPEG is corrupt_image even where a part could be shown.
Image decode_image(const std::filesystem::path& file, const DecodeOptions& options = {});

// The same from a file's bytes; `file` is only named in errors.
ImageInfo probe_image_bytes(std::span<const std::byte> bytes,
                            const std::filesystem::path& file = {});
Image decode_image_bytes(std::span<const std::byte> bytes, const DecodeOptions& options = {},
                         const std::filesystem::path& file = {});

// Baseline JPEG, 4:2:0, quality 1..100, with optional raw APP1 segments ("Exif\0\0..." and the XMP
// packet with its name space head), as made by make_exif_segment and make_xmp_segment.
// Throws Error(unwritable_output).
void write_jpeg(const std::filesystem::path& file, const Image& image, int quality,
                const std::vector<std::string>& app1_segments = {});

// 8-bit PNG. Throws Error(unwritable_output).
void write_png(const std::filesystem::path& file, const Image& image);

// The bytes that write_jpeg and write_png put into the file. Throw Error(unwritable_output) for
// what the format cannot hold (sides over 65500 px, an APP1 segment over 65533 bytes).
std::string encode_jpeg(const Image& image, int quality,
                        const std::vector<std::string>& app1_segments = {});
std::string encode_png(const Image& image);

// Area average when shrinking, bicubic when growing.
Image resize(const Image& image, int width, int height);
// The picture itself where its long side is within `long_side_px`, else resized to that.
Image shrink_to(const Image& image, int long_side_px);
// Turned by `quarters` x 90 degrees clockwise, without loss.
Image turn(const Image& image, int quarters);
// As it is to be shown, by EXIF's orientation (1..8; anything else is 1): turned and mirrored.
Image upright(const Image& image, int exif_orientation);
// Gaussian blur; sigma in pixels.
Image blur(const Image& image, double sigma_px);
// (Rec. 601 luma.)
Image to_grey(const Image& image);

// Whether the name ends like an image we read (.jpg .jpeg .png .tif .tiff, any case) and is not
// hidden ("." or "._" side files).
bool looks_like_image_name(const std::filesystem::path& file);

}  // namespace skyfix
