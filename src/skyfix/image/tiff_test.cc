#include <gtest/gtest.h>
#include <tiffio.h>

#include <cstring>

#include "skyfix/base/file.h"
#include "skyfix/image/image.h"
#include "skyfix/image/testing.h"

namespace skyfix {
namespace {

using namespace testing_image;

struct TiffSpec {
  int bits = 8;
  int samples = 3;
  std::uint16_t photometric = PHOTOMETRIC_RGB;
  bool tiled = false;
  bool planar = false;
  bool big_endian = false;
  std::uint16_t compression = COMPRESSION_NONE;
  std::uint16_t sample_format = SAMPLEFORMAT_UINT;
  std::uint16_t orientation = ORIENTATION_TOPLEFT;
  std::uint16_t opacity = EXTRASAMPLE_UNASSALPHA;
};

constexpr int kTile = 32;

// The bytes of a block (a strip of rows or a tile) in the file's layout.
std::vector<std::uint8_t> block_of(const Image& image, const TiffSpec& spec, int x0, int y0,
                                   int width, int height, int plane) {
  std::vector<std::uint8_t> data;
  const int first = spec.planar ? plane : 0;
  const int last = spec.planar ? plane + 1 : spec.samples;
  for (int y = y0; y < y0 + height; ++y) {
    for (int x = x0; x < x0 + width; ++x) {
      for (int c = first; c < last; ++c) {
        const bool inside = x < image.width && y < image.height && c < image.channels;
        const std::uint8_t value = inside ? image.row(y)[x * image.channels + c] : 99;
        // (Times 257: both bytes alike, so the byte order shows only in real 16-bit tests.)
        for (int b = 0; b < spec.bits / 8; ++b) data.push_back(value);
      }
    }
  }
  return data;
}

void set_tags(TIFF* tiff, const Image& image, const TiffSpec& spec) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(image.width));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(image.height));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, spec.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, spec.samples);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, spec.photometric);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, spec.compression);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, spec.sample_format);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, spec.orientation);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG,
               spec.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  if (spec.samples == 4 && spec.photometric == PHOTOMETRIC_RGB) {
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &spec.opacity);
  }
}

void write_blocks(TIFF* tiff, const Image& image, const TiffSpec& spec) {
  const int step = spec.tiled ? kTile : 7;
  std::uint32_t index = 0;
  for (int plane = 0; plane < (spec.planar ? spec.samples : 1); ++plane) {
    for (int y = 0; y < image.height; y += step) {
      const int rows = spec.tiled ? kTile : std::min(step, image.height - y);
      const int width = spec.tiled ? kTile : image.width;
      for (int x = 0; x < image.width; x += width) {
        auto data = block_of(image, spec, x, y, width, rows, plane);
        const auto size = static_cast<tmsize_t>(data.size());
        spec.tiled ? TIFFWriteEncodedTile(tiff, index++, data.data(), size)
                   : TIFFWriteEncodedStrip(tiff, index++, data.data(), size);
      }
    }
  }
}

std::string special_tiff(const Image& image, const TiffSpec& spec) {
  const auto file = scratch("tiff") / "picture.tif";
  TIFF* tiff = TIFFOpen(file.c_str(), spec.big_endian ? "wb" : "wl");
  set_tags(tiff, image, spec);
  if (spec.tiled) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, kTile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, kTile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 7);
  }
  write_blocks(tiff, image, spec);
  TIFFClose(tiff);
  return read_file(file);
}

Image decode(const std::string& bytes, bool grey = false) {
  return decode_image_bytes(bytes_of(bytes), {.grey = grey});
}

TEST(Tiff, ColourLayoutsComeBackExactly) {
  const Image picture = waves(75, 50, 3);
  for (const bool tiled : {false, true}) {
    for (const bool planar : {false, true}) {
      for (const int bits : {8, 16}) {
        for (const int samples : {3, 4}) {
          const TiffSpec spec{.bits = bits, .samples = samples, .tiled = tiled, .planar = planar};
          const std::string bytes = special_tiff(picture, spec);
          EXPECT_EQ(decode(bytes).pixels, picture.pixels)
              << tiled << planar << " " << bits << " " << samples;
        }
      }
    }
  }
}

TEST(Tiff, TransparencyLiesOverWhiteWhereThatIsWanted) {
  const Image picture = blank(40, 40, 4);
  for (const bool tiled : {false, true}) {
    for (const bool planar : {false, true}) {
      Image pixels = picture;
      for (std::size_t i = 0; i < pixels.pixels.size(); i += 4) {
        pixels.pixels[i] = 40;
        pixels.pixels[i + 3] = i < 400 ? 0 : 128;
      }
      TiffSpec spec{.samples = 4, .tiled = tiled, .planar = planar};
      const DecodeOptions options{.grey = false, .alpha = Alpha::over_white};
      const Image plain = decode_image_bytes(bytes_of(special_tiff(pixels, spec)), options);
      ASSERT_EQ(plain.channels, 3);
      EXPECT_EQ(plain.pixels[0], 255);
      EXPECT_EQ(plain.pixels[300], 147);
      EXPECT_EQ(plain.pixels[301], 127);
      spec.opacity = EXTRASAMPLE_ASSOCALPHA;
      const Image multiplied = decode_image_bytes(bytes_of(special_tiff(pixels, spec)), options);
      EXPECT_EQ(multiplied.pixels[0], 255);  // brighter than its opacity allows
      EXPECT_EQ(multiplied.pixels[300], 167);
      spec.opacity = EXTRASAMPLE_UNSPECIFIED;
      EXPECT_EQ(decode_image_bytes(bytes_of(special_tiff(pixels, spec)), options).pixels[0], 40);
    }
  }
}

TEST(Tiff, GreyCompressedAndEitherEnd) {
  const Image picture = waves(60, 61, 1);
  for (const std::uint16_t compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
    for (const bool big_endian : {false, true}) {
      const std::string bytes = special_tiff(picture, {.samples = 1,
                                                       .photometric = PHOTOMETRIC_MINISBLACK,
                                                       .big_endian = big_endian,
                                                       .compression = compression});
      EXPECT_EQ(decode(bytes, true).pixels, picture.pixels) << compression;
    }
  }
}

TEST(Tiff, SixteenBitsAreRoundedInBothByteOrders) {
  for (const bool big_endian : {false, true}) {
    const auto file = scratch("tiff16") / "picture.tif";
    TIFF* tiff = TIFFOpen(file.c_str(), big_endian ? "wb" : "wl");
    Image shape = blank(4, 1, 1);
    set_tags(tiff, shape, {.bits = 16, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK});
    std::uint16_t row[] = {0x0180, 0x0182, 0xfffe, 0x00ff};
    TIFFWriteEncodedStrip(tiff, 0, row, sizeof row);
    TIFFClose(tiff);
    EXPECT_EQ(decode(read_file(file), true).pixels, (std::vector<std::uint8_t>{1, 2, 255, 1}));
  }
}

TEST(Tiff, WhiteIsZero) {
  const Image picture = waves(20, 20, 1);
  Image negative = picture;
  for (auto& value : negative.pixels) value ^= 255;
  const std::string bytes =
      special_tiff(negative, {.samples = 1, .photometric = PHOTOMETRIC_MINISWHITE});
  EXPECT_EQ(decode(bytes, true).pixels, picture.pixels);
}

TEST(Tiff, PaletteGoesThroughTheConverterAndOrientationIsNotApplied) {
  const Image indices = waves(30, 20, 1);
  const auto file = scratch("tiff-palette") / "picture.tif";
  TIFF* tiff = TIFFOpen(file.c_str(), "w");
  set_tags(tiff, indices,
           {.samples = 1, .photometric = PHOTOMETRIC_PALETTE, .orientation = ORIENTATION_BOTRIGHT});
  std::vector<std::uint16_t> red(256), green(256), blue(256);
  for (int i = 0; i < 256; ++i) {
    red[i] = static_cast<std::uint16_t>(257 * i);
    green[i] = static_cast<std::uint16_t>(257 * (255 - i));
    blue[i] = 257 * 7;
  }
  TIFFSetField(tiff, TIFFTAG_COLORMAP, red.data(), green.data(), blue.data());
  Image copy = indices;
  TIFFWriteEncodedStrip(tiff, 0, copy.pixels.data(), static_cast<tmsize_t>(copy.pixels.size()));
  TIFFClose(tiff);
  const Image colour = decode(read_file(file));
  for (std::size_t i = 0; i < indices.pixels.size(); ++i) {
    ASSERT_EQ(colour.pixels[3 * i], indices.pixels[i]) << i;
    ASSERT_EQ(colour.pixels[3 * i + 1], 255 - indices.pixels[i]);
    ASSERT_EQ(colour.pixels[3 * i + 2], 7);
  }
}

TEST(Tiff, OrientationIsNotApplied) {
  const Image picture = waves(31, 17, 3);
  const std::string bytes = special_tiff(picture, {.orientation = ORIENTATION_RIGHTTOP});
  EXPECT_EQ(decode(bytes).pixels, picture.pixels);
}

TEST(Tiff, FloatsAreUnsupported) {
  const std::string bytes = special_tiff(waves(16, 16, 1), {.bits = 32,
                                                            .samples = 1,
                                                            .photometric = PHOTOMETRIC_MINISBLACK,
                                                            .sample_format = SAMPLEFORMAT_IEEEFP});
  EXPECT_EQ(reason_thrown_by([&] { decode(bytes); }), Reason::unsupported_image);
}

TEST(Tiff, CutFilesAreCorrupt) {
  for (const bool tiled : {false, true}) {
    const std::string whole =
        special_tiff(waves(75, 50, 3), {.tiled = tiled, .compression = COMPRESSION_LZW});
    for (std::size_t size = 8; size < whole.size(); size += 97) {
      EXPECT_EQ(reason_thrown_by([&] { decode(whole.substr(0, size)); }), Reason::corrupt_image)
          << size << " of " << whole.size();
    }
  }
}

TEST(Tiff, AbsurdSizesAreRefusedBeforeAllocation) {
  const std::string whole =
      special_tiff(waves(30, 20, 1), {.samples = 1, .photometric = PHOTOMETRIC_MINISBLACK});
  // Each 4-byte field of the directory in turn becomes huge: nothing may crash or take long.
  const std::size_t directory =
      static_cast<unsigned char>(whole[4]) + 256u * static_cast<unsigned char>(whole[5]);
  for (std::size_t at = directory + 2; at + 12 <= whole.size(); at += 4) {
    std::string bytes = whole;
    bytes.replace(at, 4, std::string("\xff\xff\xff\x7f", 4));
    const auto reason = reason_thrown_by([&] { decode(bytes); });
    EXPECT_NE(reason, Reason::internal);
  }
}

}  // namespace
}  // namespace skyfix
