#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/image/metadata_testing.h"

namespace skyfix {
namespace {

using namespace testing_image;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Exif, BothByteOrders) {
  for (const bool big_endian : {false, true}) {
    const PhotoMetadata out = read_block(gps_block({.big_endian = big_endian}));
    EXPECT_DOUBLE_EQ(out.latitude_deg.value(), 46.5);
    EXPECT_DOUBLE_EQ(out.longitude_deg.value(), -91.26);
    EXPECT_DOUBLE_EQ(out.altitude_m.value(), 123.4);
  }
}

TEST(Exif, ZeroOverZeroIsAbsentWithANote) {
  const PhotoMetadata out =
      read_block(gps_block({.seconds_denominator = 0, .altitude_denominator = 0}));
  EXPECT_FALSE(out.latitude_deg);
  EXPECT_FALSE(out.altitude_m);
  EXPECT_TRUE(out.longitude_deg);
  EXPECT_FALSE(out.position());
  EXPECT_THAT(out.notes, Contains(HasSubstr("latitude")));
  EXPECT_THAT(out.notes, Contains(HasSubstr("altitude is 0/0")));
}

TEST(Exif, NoHemisphereNoLatitude) {
  const PhotoMetadata out = read_block(gps_block({.latitude_letter = ""}));
  EXPECT_FALSE(out.latitude_deg);
  EXPECT_THAT(out.notes, Contains(HasSubstr("hemisphere")));
}

TEST(Exif, OutOfRangeIsAbsent) {
  EXPECT_FALSE(read_block(gps_block({.latitude_degrees = 91})).latitude_deg);
  EXPECT_FALSE(read_block(gps_block({})).orientation);  // 9
}

TEST(Exif, AltitudeReferenceAsTextAndUnknown) {
  const PhotoMetadata text =
      read_block(gps_block({.altitude_reference = "1", .altitude_reference_type = 2}));
  EXPECT_EQ(text.altitude_ref, 1);
  EXPECT_DOUBLE_EQ(text.altitude_m.value(), -123.4);
  const PhotoMetadata unknown = read_block(gps_block({.altitude_reference = "\x7f"}));
  EXPECT_FALSE(unknown.altitude_ref);
  EXPECT_DOUBLE_EQ(unknown.altitude_m.value(), 123.4);
  EXPECT_THAT(unknown.notes, Contains(HasSubstr("reference 127")));
}

TEST(Exif, ZoomZeroMeansNotUsedAndFocalZeroMeansUnknown) {
  PhotoMetadata in;
  in.digital_zoom = 0;
  in.focal_length_35mm = 0;
  in.focal_length_mm = 0;
  const PhotoMetadata out = round_trip(in);
  EXPECT_EQ(out.digital_zoom, 1);
  EXPECT_FALSE(out.focal_length_35mm);
  EXPECT_FALSE(out.focal_length_mm);
}

TEST(Exif, TextIsMadePrintable) {
  PhotoMetadata in;
  in.make = "D\xff\xfeJ\nI  ";
  in.model = "   ";
  const PhotoMetadata out = round_trip(in);
  EXPECT_EQ(out.make, "D??J?I");
  EXPECT_FALSE(out.model);
}

TEST(Exif, DamageNeverThrows) {
  const std::string block = make_exif_segment(full_metadata());
  for (std::size_t size = 6; size < block.size(); size += 3) {
    read_block(block.substr(0, size));
  }
  for (std::size_t at = 6; at < block.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = block;
      damaged[at] = value;
      read_block(damaged);
    }
  }
  EXPECT_THAT(read_block(std::string(kExifHead) + "garbage, not a TIFF").notes,
              Contains(HasSubstr("EXIF block is damaged")));
}

}  // namespace
}  // namespace skyfix
