#include "skyfix/frames/srt.h"

#include <gmock/gmock.h>

#include "skyfix/base/file.h"
#include "skyfix/frames/testing.h"

namespace skyfix {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Srt, BracketsOfTodaysModels) {
  const SrtTrack track = SrtTrack::parse(
      "1\r\n00:00:00,000 --> 00:00:00,033\r\n"
      "<font size=\"28\">FrameCnt: 1, DiffTime: 33ms\r\n2023-06-01 10:00:00.000\r\n"
      "[iso: 100] [shutter: 1/640.0] [fnum: 2.8] [ev: 0] [ct: 5200] [color_md: default] "
      "[focal_len: 24.00] [latitude: 51.507400] [longitude: -0.127800] [rel_alt: 12.300 abs_alt: "
      "87.500] [gb_yaw: -15.5 gb_pitch: -89.9 gb_roll: 0.0] </font>\r\n\r\n"
      "2\r\n00:00:00,033 --> 00:00:00,066\r\n"
      "[latitude: 51.507401] [longitude: -0.127801] [rel_alt: 12.400 abs_alt: 87.600]\r\n");
  ASSERT_THAT(track.entries(), SizeIs(2));
  const PhotoMetadata& first = track.entries()[0].metadata;
  EXPECT_THAT(first.latitude_deg, Optional(51.5074));
  EXPECT_THAT(first.longitude_deg, Optional(-0.1278));
  EXPECT_THAT(first.relative_altitude_m, Optional(12.3));
  EXPECT_THAT(first.absolute_altitude_m, Optional(87.5));
  EXPECT_THAT(first.gimbal_yaw_deg, Optional(-15.5));
  EXPECT_THAT(first.gimbal_pitch_deg, Optional(-89.9));
  EXPECT_TRUE(first.gimbal());
  ASSERT_TRUE(first.position());
  EXPECT_EQ(first.position()->latitude_deg, 51.5074);
  EXPECT_FALSE(track.entries()[1].metadata.gimbal());
  EXPECT_EQ(track.entries()[1].start_ns, 33'000'000);
  EXPECT_THAT(track.notes(), IsEmpty());
}

TEST(Srt, LongtitudeAndBlanksBeforeColons) {
  const SrtTrack track = SrtTrack::parse(
      "1\n00:00:01,000 --> 00:00:02,000\n[iso : 110] [latitude : 30.25] [longtitude : 120.5] "
      "[altitude: 100.5]\n");
  ASSERT_THAT(track.entries(), SizeIs(1));
  EXPECT_THAT(track.entries()[0].metadata.latitude_deg, Optional(30.25));
  EXPECT_THAT(track.entries()[0].metadata.longitude_deg, Optional(120.5));
  EXPECT_FALSE(track.entries()[0].metadata.absolute_altitude_m) << "of unknown zero";
}

TEST(Srt, OldPairsInEitherOrder) {
  const auto old = [](const std::string& gps) {
    return "1\n00:00:01,000 --> 00:00:02,000\nF/2.8, SS 206.14, ISO 150, EV 0, GPS " + gps +
           ", D 50.20m, H 28.50m, H.S 0.00m/s\n";
  };
  const SrtTrack longitude_first = SrtTrack::parse(old("(149.0251, -20.2532, 16)"));
  const SrtTrack latitude_first = SrtTrack::parse(old("(-20.2532, 149.0251, 16)"));
  for (const SrtTrack& track : {longitude_first, latitude_first}) {
    ASSERT_THAT(track.entries(), SizeIs(1));
    EXPECT_THAT(track.entries()[0].metadata.latitude_deg, Optional(-20.2532));
    EXPECT_THAT(track.entries()[0].metadata.longitude_deg, Optional(149.0251));
    EXPECT_THAT(track.entries()[0].metadata.relative_altitude_m, Optional(28.5));
  }
}

TEST(Srt, PairsThatMayBeEitherAreNotGuessed) {
  const SrtTrack track =
      SrtTrack::parse("1\n00:00:01,000 --> 00:00:02,000\nGPS(8.54,47.37,15) BAROMETER:91.2\n");
  ASSERT_THAT(track.entries(), SizeIs(1));
  EXPECT_FALSE(track.entries()[0].metadata.latitude_deg);
  EXPECT_THAT(track.entries()[0].metadata.relative_altitude_m, Optional(91.2));
  ASSERT_THAT(track.notes(), SizeIs(1));
  EXPECT_THAT(track.notes()[0], HasSubstr("latitude"));
}

TEST(Srt, JoinedByElapsedTime) {
  const SrtTrack track = SrtTrack::parse(
      "1\n00:00:10,000 --> 00:00:10,500\n[rel_alt: 1]\n\n"
      "2\n00:00:11,000 --> 00:00:11,500\n[rel_alt: 2]\n\n"
      "3\n00:00:12,000 --> 00:00:12,500\n[rel_alt: 3]\n");
  const auto height = [&](double seconds) -> std::optional<double> {
    const auto* metadata = track.at(static_cast<std::int64_t>(seconds * kSecond));
    return metadata == nullptr ? std::nullopt : metadata->relative_altitude_m;
  };
  EXPECT_EQ(height(10.0), 1);
  EXPECT_EQ(height(10.6), 1) << "between two: the nearest";
  EXPECT_EQ(height(10.9), 2);
  EXPECT_EQ(height(13.4), 3) << "within one interval";
  EXPECT_EQ(height(13.6), std::nullopt);
  EXPECT_EQ(height(9.1), 1);
  EXPECT_EQ(height(8.9), std::nullopt);
  EXPECT_EQ(SrtTrack().at(0), nullptr);
}

TEST(Srt, NonsenseIsAbsent) {
  EXPECT_THAT(SrtTrack::parse("").entries(), IsEmpty());
  EXPECT_THAT(SrtTrack::parse("-->\n[latitude: 1]").entries(), IsEmpty());
  const SrtTrack track = SrtTrack::parse(
      "00:00:00.000 --> 00:00:01.000\n[latitude: 95] [longitude: 1] [rel_alt: x] [abs_alt: ] "
      "[xgb_yaw: 3] [gb_pitch: -90");
  ASSERT_THAT(track.entries(), SizeIs(1));
  const PhotoMetadata& metadata = track.entries()[0].metadata;
  EXPECT_FALSE(metadata.latitude_deg);
  EXPECT_FALSE(metadata.relative_altitude_m);
  EXPECT_FALSE(metadata.absolute_altitude_m);
  EXPECT_FALSE(metadata.gimbal_yaw_deg);
  EXPECT_THAT(metadata.gimbal_pitch_deg, Optional(-90));
}

TEST(Srt, AFileWithoutTelemetryIsRefused) {
  const testing_frames::Folder folder;
  write_file_atomic(folder / "a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello there\n");
  EXPECT_EQ(testing_frames::error_of([&] { SrtTrack::read(folder / "a.srt"); }).first,
            Reason::unreadable_file);
  EXPECT_EQ(testing_frames::error_of([&] { SrtTrack::read(folder / "b.srt"); }).first,
            Reason::unreadable_file);
}

}  // namespace
}  // namespace skyfix
