#include <gtest/gtest.h>

#include "skyfix/base/file.h"
#include "skyfix/image/image.h"
#include "skyfix/image/jpeg_errors.h"
#include "skyfix/image/testing.h"

namespace skyfix {
namespace {

using namespace testing_image;

struct JpegSpec {
  J_COLOR_SPACE colours = JCS_RGB;  // of the rows handed in
  J_COLOR_SPACE stored = JCS_YCbCr;
  bool progressive = false;
  bool adobe = true;
};

// An encoder for the kinds that write_jpeg does not make.
std::string special_jpeg(const Image& image, const JpegSpec& spec) {
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &buffer, &size);
  state.image_width = static_cast<JDIMENSION>(image.width);
  state.image_height = static_cast<JDIMENSION>(image.height);
  state.input_components = image.channels;
  state.in_color_space = spec.colours;
  jpeg_set_defaults(&state);
  jpeg_set_colorspace(&state, spec.stored);
  state.write_Adobe_marker = spec.adobe ? TRUE : FALSE;
  jpeg_set_quality(&state, 95, TRUE);
  if (spec.progressive) jpeg_simple_progression(&state);
  jpeg_start_compress(&state, TRUE);
  while (state.next_scanline < state.image_height) {
    auto* row = const_cast<JSAMPROW>(image.row(static_cast<int>(state.next_scanline)));
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  std::string bytes(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&state);
  std::free(buffer);
  return bytes;
}

Image decode(const std::string& bytes, bool grey = false, int long_side = 0) {
  return decode_image_bytes(bytes_of(bytes), {.grey = grey, .long_side = long_side});
}

TEST(Jpeg, ComesBackInColourAndGrey) {
  const Image picture = waves(161, 90, 3);
  const std::string bytes = encode_jpeg(picture, 95);
  EXPECT_LT(mean_difference(decode(bytes), picture), 3);
  // The luma plane is what converting the colours gives.
  EXPECT_LT(mean_difference(decode(bytes, true), to_grey(picture)), 2);
}

TEST(Jpeg, GreyFileGivesBoth) {
  const Image picture = waves(64, 48, 1);
  const std::string bytes = encode_jpeg(picture, 95);
  EXPECT_LT(mean_difference(decode(bytes, true), picture), 2);
  const Image colour = decode(bytes, false);
  ASSERT_EQ(colour.channels, 3);
  EXPECT_EQ(colour.row(7)[30], colour.row(7)[31]);
  EXPECT_EQ(colour.row(7)[30], colour.row(7)[32]);
}

TEST(Jpeg, ProgressiveAndRgbStored) {
  const Image picture = waves(130, 70, 3);
  EXPECT_LT(mean_difference(decode(special_jpeg(picture, {.progressive = true})), picture), 3);
  const std::string rgb = special_jpeg(picture, {.stored = JCS_RGB});
  EXPECT_LT(mean_difference(decode(rgb), picture), 2);
  EXPECT_LT(mean_difference(decode(rgb, true), to_grey(picture)), 2);
}

// RGB -> CMYK with a constant key; `inverted` as Adobe writes it.
Image cmyk_of(const Image& rgb, bool inverted) {
  Image cmyk = blank(rgb.width, rgb.height, 4);
  for (std::size_t i = 0; i < rgb.pixels.size() / 3; ++i) {
    for (std::size_t c = 0; c < 3; ++c) cmyk.pixels[4 * i + c] = rgb.pixels[3 * i + c];
    cmyk.pixels[4 * i + 3] = 255;  // no key
    if (!inverted) {
      for (std::size_t c = 0; c < 4; ++c) cmyk.pixels[4 * i + c] ^= 255;
    }
  }
  return cmyk;
}

TEST(Jpeg, PrintColours) {
  const Image picture = waves(80, 60, 3);
  const JpegSpec adobe{.colours = JCS_CMYK, .stored = JCS_CMYK};
  const JpegSpec bare{.colours = JCS_CMYK, .stored = JCS_CMYK, .adobe = false};
  const JpegSpec ycck{.colours = JCS_CMYK, .stored = JCS_YCCK};
  EXPECT_LT(mean_difference(decode(special_jpeg(cmyk_of(picture, true), adobe)), picture), 3);
  EXPECT_LT(mean_difference(decode(special_jpeg(cmyk_of(picture, false), bare)), picture), 3);
  EXPECT_LT(mean_difference(decode(special_jpeg(cmyk_of(picture, true), ycck)), picture), 3);
  EXPECT_LT(
      mean_difference(decode(special_jpeg(cmyk_of(picture, true), adobe), true), to_grey(picture)),
      3);
}

TEST(Jpeg, KeyDarkensPrintColours) {
  Image black = blank(16, 16, 4);  // Adobe's inverse: everything zero is full ink
  const JpegSpec adobe{.colours = JCS_CMYK, .stored = JCS_CMYK};
  EXPECT_LT(mean_difference(decode(special_jpeg(black, adobe)), blank(16, 16, 3)), 1);
}

TEST(Jpeg, TwoComponentsAreUnsupported) {
  const std::string bytes =
      special_jpeg(waves(32, 32, 2), {.colours = JCS_UNKNOWN, .stored = JCS_UNKNOWN});
  EXPECT_EQ(reason_thrown_by([&] { decode(bytes); }), Reason::unsupported_image);
}

TEST(Jpeg, LongSideIsExactAndLooksTheSame) {
  const Image picture = waves(800, 450, 3);
  const std::string bytes = encode_jpeg(picture, 95);
  for (const int side : {799, 640, 512, 401, 400, 399, 256, 100, 33, 8, 1}) {
    const Image small = decode(bytes, false, side);
    EXPECT_EQ(small.width, side);
    const int height = std::max(1, static_cast<int>(std::lround(450.0 * side / 800)));
    EXPECT_EQ(small.height, height);
    if (side < 33) continue;
    EXPECT_LT(mean_difference(small, resize(picture, side, height)), 4) << side;
  }
  EXPECT_EQ(decode(bytes, false, 800).width, 800);
  EXPECT_EQ(decode(bytes, false, 5000).width, 800);
}

TEST(Jpeg, TallPictureIsFittedByHeight) {
  const Image small = decode(encode_jpeg(waves(90, 160, 1), 90), true, 80);
  EXPECT_EQ(small.width, 45);
  EXPECT_EQ(small.height, 80);
}

TEST(Jpeg, EveryCutIsCorrupt) {
  const Image picture = waves(96, 64, 3);
  for (const bool progressive : {false, true}) {
    const std::string whole = special_jpeg(picture, {.progressive = progressive});
    EXPECT_EQ(reason_thrown_by([&] { decode(whole); }), std::nullopt);
    for (std::size_t size = 2; size < whole.size(); size += 7) {
      EXPECT_EQ(reason_thrown_by([&] { decode(whole.substr(0, size)); }), Reason::corrupt_image)
          << size << " of " << whole.size();
    }
    // The last two bytes are the end mark.
    EXPECT_EQ(reason_thrown_by([&] { decode(whole.substr(0, whole.size() - 1)); }),
              Reason::corrupt_image);
  }
}

TEST(Jpeg, CutIsFoundInScaledGreyToo) {
  const std::string whole = encode_jpeg(waves(400, 300, 3), 90);
  const std::string half = whole.substr(0, whole.size() / 2);
  EXPECT_EQ(reason_thrown_by([&] { decode(half, true, 64); }), Reason::corrupt_image);
}

TEST(Jpeg, HoleInTheDataIsCorrupt) {
  std::string bytes = encode_jpeg(waves(400, 300, 3), 90);
  bytes.replace(bytes.size() / 2, 400, std::string(400, '\0'));
  bytes.erase(bytes.size() * 3 / 4, 100);
  EXPECT_EQ(reason_thrown_by([&] { decode(bytes); }), Reason::corrupt_image);
}

TEST(Jpeg, BytesAfterTheEndDoNotMatter) {
  const Image picture = waves(50, 40, 3);
  const std::string bytes = encode_jpeg(picture, 95) + std::string(1000, 'x');
  EXPECT_LT(mean_difference(decode(bytes), picture), 3);
}

TEST(Jpeg, TooManyScansAreRefused) {
  // The last scan of a progressive file, again and again: each is a pass over the picture.
  std::string bytes = special_jpeg(
      waves(64, 64, 1), {.colours = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE, .progressive = true});
  const std::size_t last = bytes.rfind("\xff\xda");
  ASSERT_NE(last, std::string::npos);
  const std::string scan = bytes.substr(last, bytes.size() - 2 - last);
  std::string bomb = bytes.substr(0, bytes.size() - 2);
  for (int i = 0; i < 3000; ++i) bomb += scan;
  bomb += "\xff\xd9";
  EXPECT_EQ(reason_thrown_by([&] { decode(bomb, true); }), Reason::corrupt_image);
}

TEST(Jpeg, OversizedSegmentIsRefused) {
  const std::string segment(65534, 'x');
  EXPECT_EQ(reason_thrown_by([&] { encode_jpeg(waves(8, 8, 1), 90, {segment}); }),
            Reason::unwritable_output);
  const std::string fits(65533, 'x');
  const std::string bytes = encode_jpeg(waves(8, 8, 1), 90, {fits});
  EXPECT_EQ(decode(bytes, true).width, 8);
  EXPECT_NE(bytes.find(fits), std::string::npos);
}

TEST(Jpeg, TooLongASideIsRefused) {
  EXPECT_EQ(reason_thrown_by([&] { encode_jpeg(blank(65501, 1, 1), 90); }),
            Reason::unwritable_output);
  EXPECT_EQ(decode(encode_jpeg(blank(65500, 1, 1), 90), true).width, 65500);
}

TEST(Jpeg, ColourIsStoredAt420) {
  const std::string bytes = encode_jpeg(waves(32, 32, 3), 90);
  const std::size_t frame = bytes.find("\xff\xc0");  // baseline
  ASSERT_NE(frame, std::string::npos);
  EXPECT_EQ(bytes[frame + 11], 0x22);  // luma sampled at twice the chroma both ways
  EXPECT_EQ(bytes[frame + 14], 0x11);
}

TEST(Jpeg, RealPhotosDecode) {
  SKYFIX_REQUIRE_PHOTOS(folder);
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const ImageInfo info = probe_image(entry.path());
    EXPECT_EQ(info.width, 1600);  // though EXIF still says 4000
    EXPECT_EQ(info.height, 900);
    EXPECT_EQ(info.format, "jpeg");
    const Image grey = decode_image(entry.path());
    EXPECT_LT(mean_difference(grey, to_grey(decode_image(entry.path(), {.grey = false}))), 1.5);
  }
}

}  // namespace
}  // namespace skyfix
