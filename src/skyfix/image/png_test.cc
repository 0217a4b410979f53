#include <gtest/gtest.h>
#include <png.h>

#include <functional>

#include "skyfix/image/image.h"
#include "skyfix/image/testing.h"

namespace skyfix {
namespace {

using namespace testing_image;

struct PngSpec {
  int colour_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  bool interlaced = false;
  std::function<void(png_structp, png_infop)> more = [](png_structp, png_infop) {};
};

void append(png_structp png, png_bytep bytes, png_size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(bytes), count);
}
void no_flush(png_structp) {}

// An encoder for the kinds that write_png does not make; `rows` are as in the file.
std::string special_png(int width, int height, std::vector<std::vector<png_byte>> rows,
                        const PngSpec& spec) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, append, no_flush);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               spec.bit_depth, spec.colour_type,
               spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  spec.more(png, info);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (auto& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

Image decode(const std::string& bytes, bool grey) {
  return decode_image_bytes(bytes_of(bytes), {.grey = grey});
}

TEST(Png, ComesBackExactly) {
  const Image colour = waves(71, 33, 3);
  EXPECT_EQ(decode(encode_png(colour), false).pixels, colour.pixels);
  EXPECT_EQ(decode(encode_png(colour), true).pixels, to_grey(colour).pixels);
  const Image grey = waves(40, 41, 1);
  EXPECT_EQ(decode(encode_png(grey), true).pixels, grey.pixels);
  EXPECT_EQ(decode(encode_png(grey), false).channels, 3);
}

TEST(Png, SixteenBitsAreRounded) {
  // 0x0180 / 257 = 1.49 and 0x0182 / 257 = 1.502; cutting off the low byte would give 1 for both.
  const std::vector<png_byte> row = {0x00, 0x00, 0x01, 0x80, 0x01, 0x82, 0xff, 0xff, 0x80, 0x80};
  const std::string bytes =
      special_png(5, 1, {row}, {.colour_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 16});
  EXPECT_EQ(decode(bytes, true).pixels, (std::vector<std::uint8_t>{0, 1, 2, 255, 128}));
}

TEST(Png, AlphaIsDroppedNotBlended) {
  const std::vector<png_byte> row = {10, 20, 30, 0, 40, 50, 60, 128};
  const std::string colour = special_png(2, 1, {row}, {.colour_type = PNG_COLOR_TYPE_RGB_ALPHA});
  EXPECT_EQ(decode(colour, false).pixels, (std::vector<std::uint8_t>{10, 20, 30, 40, 50, 60}));
  const std::string grey =
      special_png(2, 1, {{77, 0, 88, 255}}, {.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA});
  EXPECT_EQ(decode(grey, true).pixels, (std::vector<std::uint8_t>{77, 88}));
}

TEST(Png, PaletteWithTransparency) {
  const auto more = [](png_structp png, png_infop info) {
    const png_color colours[] = {{255, 0, 0}, {0, 128, 255}};
    png_set_PLTE(png, info, colours, 2);
    png_byte alpha[] = {0, 255};
    png_set_tRNS(png, info, alpha, 2, nullptr);
  };
  // One bit a pixel: 1 0 1.
  const std::string bytes = special_png(
      3, 1, {{0b10100000}}, {.colour_type = PNG_COLOR_TYPE_PALETTE, .bit_depth = 1, .more = more});
  EXPECT_EQ(decode(bytes, false).pixels,
            (std::vector<std::uint8_t>{0, 128, 255, 255, 0, 0, 0, 128, 255}));
}

TEST(Png, TransparencyLiesOverWhiteWhereThatIsWanted) {
  const auto over_white = [](const std::string& bytes, bool grey) {
    return decode_image_bytes(bytes_of(bytes), {.grey = grey, .alpha = Alpha::over_white}).pixels;
  };
  const std::vector<png_byte> row = {10, 20, 30, 0, 40, 50, 60, 128, 1, 2, 3, 255};
  const std::string colour = special_png(3, 1, {row}, {.colour_type = PNG_COLOR_TYPE_RGB_ALPHA});
  // (40 * 128 + 255 * 127 + 127) / 255 = 147.58
  EXPECT_EQ(over_white(colour, false),
            (std::vector<std::uint8_t>{255, 255, 255, 147, 152, 157, 1, 2, 3}));
  const std::string grey =
      special_png(2, 1, {{77, 0, 88, 255}}, {.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA});
  EXPECT_EQ(over_white(grey, true), (std::vector<std::uint8_t>{255, 88}));
  const auto palette = [](png_structp png, png_infop info) {
    const png_color colours[] = {{255, 0, 0}, {0, 128, 255}};
    png_set_PLTE(png, info, colours, 2);
    png_byte alpha[] = {0, 255};
    png_set_tRNS(png, info, alpha, 2, nullptr);
  };
  const std::string few =
      special_png(2, 1, {{0b10000000}},
                  {.colour_type = PNG_COLOR_TYPE_PALETTE, .bit_depth = 1, .more = palette});
  EXPECT_EQ(over_white(few, false), (std::vector<std::uint8_t>{0, 128, 255, 255, 255, 255}));
  const Image opaque = waves(20, 10, 3);
  EXPECT_EQ(over_white(encode_png(opaque), false), opaque.pixels);
}

TEST(Png, FewBitsOfGreyAreSpread) {
  // Two bits a pixel: 0 1 2 3.
  const std::string bytes =
      special_png(4, 1, {{0b00011011}}, {.colour_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 2});
  EXPECT_EQ(decode(bytes, true).pixels, (std::vector<std::uint8_t>{0, 85, 170, 255}));
}

TEST(Png, Interlaced) {
  const Image picture = waves(37, 29, 1);
  std::vector<std::vector<png_byte>> rows;
  for (int y = 0; y < picture.height; ++y) {
    rows.emplace_back(picture.row(y), picture.row(y) + picture.width);
  }
  const std::string bytes =
      special_png(37, 29, rows, {.colour_type = PNG_COLOR_TYPE_GRAY, .interlaced = true});
  EXPECT_EQ(decode(bytes, true).pixels, picture.pixels);
}

TEST(Png, EveryCutAndEveryFlippedByteIsCorrupt) {
  const std::string whole = encode_png(waves(40, 30, 3));
  for (std::size_t size = 8; size < whole.size(); size += 11) {
    EXPECT_EQ(reason_thrown_by([&] { decode(whole.substr(0, size), true); }), Reason::corrupt_image)
        << size;
  }
  // Checksums cover all of it.
  for (std::size_t at = 8; at < whole.size(); at += 13) {
    std::string flipped = whole;
    flipped[at] ^= 0x10;
    EXPECT_EQ(reason_thrown_by([&] { decode(flipped, true); }), Reason::corrupt_image) << at;
  }
}

}  // namespace
}  // namespace skyfix
