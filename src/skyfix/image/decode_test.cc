#include <gtest/gtest.h>

#include "skyfix/base/file.h"
#include "skyfix/image/codec.h"
#include "skyfix/image/image.h"
#include "skyfix/image/testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using namespace testing_image;

TEST(Decode, FilesAreKnownByTheirBytesNotTheirNames) {
  const fs::path folder = scratch("names");
  const Image picture = waves(30, 20, 3);
  write_png(folder / "really-a-png.jpg", picture);
  write_jpeg(folder / "really-a-jpeg.png", picture, 95);
  EXPECT_EQ(probe_image(folder / "really-a-png.jpg").format, "png");
  EXPECT_EQ(probe_image(folder / "really-a-jpeg.png").format, "jpeg");
  EXPECT_EQ(decode_image(folder / "really-a-png.jpg", {.grey = false}).pixels, picture.pixels);
}

TEST(Decode, WhatIsNoImage) {
  const fs::path folder = scratch("no-image");
  write_file_atomic(folder / "text.jpg", "dear diary\n");
  write_file_atomic(folder / "empty.jpg", "");
  write_file_atomic(folder / "start.jpg", "\xff\xd8");
  EXPECT_EQ(reason_thrown_by([&] { decode_image(folder / "text.jpg"); }), Reason::not_an_image);
  EXPECT_EQ(reason_thrown_by([&] { probe_image(folder / "text.jpg"); }), Reason::not_an_image);
  EXPECT_EQ(reason_thrown_by([&] { decode_image(folder / "empty.jpg"); }), Reason::corrupt_image);
  EXPECT_EQ(reason_thrown_by([&] { decode_image(folder / "start.jpg"); }), Reason::corrupt_image);
  EXPECT_EQ(reason_thrown_by([&] { probe_image(folder / "start.jpg"); }), Reason::corrupt_image);
  EXPECT_EQ(reason_thrown_by([&] { decode_image(folder / "none.jpg"); }), Reason::unreadable_file);
  EXPECT_EQ(reason_thrown_by([&] { decode_image(folder); }), Reason::unreadable_file);
}

TEST(Decode, ErrorsNameTheFile) {
  const fs::path file = scratch("named") / "cut off.jpg";
  write_file_atomic(file, encode_jpeg(waves(99, 99, 3), 90).substr(0, 800));
  try {
    decode_image(file);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.file(), file);
    EXPECT_NE(std::string(error.what()).find("cut off.jpg"), std::string::npos);
  }
}

TEST(Decode, TooManyPixelsAreRefused) {
  const Image picture = waves(1000, 500, 1);
  for (const std::string& bytes : {encode_jpeg(picture, 90), encode_png(picture)}) {
    const auto with_limit = [&](double megapixels) {
      return reason_thrown_by(
          [&] { decode_image_bytes(bytes_of(bytes), {.max_megapixels = megapixels}); });
    };
    EXPECT_EQ(with_limit(0.49), Reason::image_too_large);
    EXPECT_EQ(with_limit(0.5), std::nullopt);
  }
}

// A header that claims 65500 x 65500 pixels must not cost 4 GB.
TEST(Decode, ClaimedSizeIsCheckedBeforeAllocation) {
  std::string jpeg = encode_jpeg(waves(64, 64, 1), 90);
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_EQ(probe_image_bytes(bytes_of(jpeg)).width, 65500);
  EXPECT_EQ(reason_thrown_by([&] { decode_image_bytes(bytes_of(jpeg)); }), Reason::image_too_large);
}

TEST(Decode, OnePixel) {
  const Image dot = waves(1, 1, 3);
  EXPECT_EQ(decode_image_bytes(bytes_of(encode_png(dot)), {.grey = false}).pixels, dot.pixels);
  EXPECT_EQ(decode_image_bytes(bytes_of(encode_jpeg(dot, 90)), {.long_side = 1}).width, 1);
}

TEST(Decode, LongSideHoldsForOtherFormats) {
  const Image picture = waves(300, 200, 3);
  const Image small = decode_image_bytes(bytes_of(encode_png(picture)), {.long_side = 150});
  EXPECT_EQ(small.width, 150);
  EXPECT_EQ(small.height, 100);
  EXPECT_EQ(small.pixels, resize(to_grey(picture), 150, 100).pixels);
}

TEST(Decode, ThinPicturesKeepAtLeastOnePixel) {
  const std::string bytes = encode_png(waves(2000, 1, 1));
  const Image small = decode_image_bytes(bytes_of(bytes), {.long_side = 20});
  EXPECT_EQ(small.width, 20);
  EXPECT_EQ(small.height, 1);
}

TEST(Decode, Names) {
  for (const char* name : {"a.jpg", "a.JPG", "b.Jpeg", "c.png", "d.TIF", "x/y.tiff", "ü b.jpg"}) {
    EXPECT_TRUE(looks_like_image_name(name)) << name;
  }
  for (const char* name :
       {"", "a", "a.txt", "._a.jpg", ".a.jpg", ".jpg", "jpg", "a.jpg.txt", "a.jpg~", "folder/"}) {
    EXPECT_FALSE(looks_like_image_name(name)) << name;
  }
}

TEST(Decode, EightBitsOfSixteenAreRoundedEverywhere) {
  for (int sample = 0; sample <= 65535; ++sample) {
    const int expected = static_cast<int>(std::lround(sample / 257.0));
    ASSERT_EQ(codec::eight_bits(static_cast<std::uint16_t>(sample)), expected) << sample;
  }
}

TEST(Decode, WritingWhereItCannotBeWritten) {
  const fs::path folder = scratch("unwritable");
  write_file_atomic(folder / "file", "x");
  const Image picture = waves(8, 8, 1);
  EXPECT_EQ(reason_thrown_by([&] { write_jpeg(folder / "file" / "a.jpg", picture, 90); }),
            Reason::unwritable_output);
  EXPECT_EQ(reason_thrown_by([&] { write_png(folder / "file" / "a.png", picture); }),
            Reason::unwritable_output);
}

}  // namespace
}  // namespace skyfix
