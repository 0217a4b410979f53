#include "skyfix/frames/pipe_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "skyfix/frames/sources.h"
#include "skyfix/frames/testing.h"

namespace skyfix {
namespace {

using namespace testing_frames;
using ::testing::HasSubstr;
using Step = FrameReader::Step;

// A pipe that a thread writes a text into, in pieces.
class Sender {
 public:
  explicit Sender(std::string text, std::size_t piece = 1000) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    thread_ = std::thread([this, text = std::move(text), piece] {
      for (std::size_t at = 0; at < text.size();) {
        const ssize_t count = ::write(ends_[1], &text[at], std::min(piece, text.size() - at));
        if (count <= 0) break;
        at += static_cast<std::size_t>(count);
      }
      ::close(ends_[1]);
    });
  }
  ~Sender() {
    thread_.join();
    ::close(ends_[0]);
  }
  int descriptor() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
  std::thread thread_;
};

std::string thumbnail_jpeg() {
  // A JPEG within a JPEG: its end is not the end.
  return encode_jpeg(quarters(), 90, {"Exif" + std::string(2, '\0') + encode_jpeg(quarters(), 50)});
}

TEST(PipeReader, JpegsOneBehindTheOther) {
  const std::string one = thumbnail_jpeg();
  for (const std::size_t piece : {std::size_t{7}, std::size_t{1} << 20}) {
    const Sender sender(one + one + "--boundary\r\n" + encode_jpeg(quarters(50, 40), 90), piece);
    const auto reader = open_pipe(sender.descriptor(), "mjpeg");
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(reader->advance(), Step::frame);
      EXPECT_EQ(reader->picture().pixels,
                decode_image_bytes(std::as_bytes(std::span(one)), {.grey = false}).pixels);
    }
    ASSERT_EQ(reader->advance(), Step::frame);
    EXPECT_EQ(reader->picture().width, 50) << "another size";
    EXPECT_EQ(reader->advance(), Step::end);
    EXPECT_EQ(reader->advance(), Step::end);
  }
}

TEST(PipeReader, WhatIsCutOrBrokenIsReported) {
  const std::string one = encode_jpeg(quarters(), 90);
  const Sender sender(one + one.substr(0, 200) + one + one.substr(0, one.size() / 2));
  const auto reader = open_pipe(sender.descriptor(), "mjpeg");
  EXPECT_EQ(reader->advance(), Step::frame);
  // The broken one ends where a new one begins, or swallows it: never more than that.
  int frames = 1, damaged = 0;
  for (Step step = reader->advance(); step != Step::end; step = reader->advance()) {
    (step == Step::frame ? frames : damaged) += 1;
    EXPECT_EQ(step == Step::damaged && reader->damage().empty(), false);
  }
  EXPECT_GE(frames + damaged, 3);
  EXPECT_GE(damaged, 1);
  EXPECT_THAT(reader->damage(), HasSubstr("ended within"));
}

TEST(PipeReader, NoJpegsAtAll) {
  const Sender sender(std::string(100'000, '\xff') + "text");
  const auto reader = open_pipe(sender.descriptor(), "mjpeg");
  EXPECT_EQ(reader->advance(), Step::end);
}

TEST(PipeReader, RawFramesWithTheirTimes) {
  const Image picture = quarters(10, 6);
  const std::string bytes(picture.pixels.begin(), picture.pixels.end());
  const Sender sender(bytes + bytes + bytes.substr(0, 50));
  const auto reader = open_pipe(sender.descriptor(), "rgb24:10x6@20");
  EXPECT_EQ(reader->info().width, 10);
  EXPECT_EQ(reader->info().frames_per_second, 20);
  ASSERT_EQ(reader->advance(), Step::frame);
  EXPECT_EQ(reader->picture().pixels, picture.pixels);
  EXPECT_EQ(reader->time_ns(), 0);
  ASSERT_EQ(reader->advance(), Step::frame);
  EXPECT_EQ(reader->picture().pixels, picture.pixels);
  EXPECT_EQ(reader->time_ns(), 50'000'000);
  EXPECT_EQ(reader->advance(), Step::damaged);
  EXPECT_EQ(reader->advance(), Step::end);
}

TEST(PipeReader, StopEndsAWaitingRead) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const auto reader = open_pipe(ends[0], "mjpeg");
  std::thread stopper([&] { reader->stop(); });
  EXPECT_EQ(reader->advance(), Step::end);
  stopper.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(PipeReader, WhatCannotBeReadIsALostSource) {
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY);
  const auto reader = open_pipe(folder, "mjpeg");
  EXPECT_EQ(error_of([&] { reader->advance(); }).first, Reason::source_lost);
  ::close(folder);
}

TEST(PipeFormat, OnlyWhatIsDocumented) {
  EXPECT_FALSE(parse_pipe_format("mjpeg"));
  const auto raw = parse_pipe_format("rgb24:640x480@29.97");
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->width, 640);
  EXPECT_EQ(raw->height, 480);
  EXPECT_EQ(raw->frames_per_second, 29.97);
  for (const char* wrong : {"", "jpeg", "rgb24", "rgb24:", "rgb24:640x480", "rgb24:0x480@30",
                            "rgb24:640x-1@30", "rgb24:640x480@0", "rgb24:640x480@x",
                            "rgb24:65535x65535@1", "rgb24:640@30x480", "rgb24:640x480@30 "}) {
    EXPECT_EQ(error_of([&] { parse_pipe_format(wrong); }).first, Reason::bad_option) << wrong;
  }
}

}  // namespace
}  // namespace skyfix
