// A video, stream or camera through FFmpeg. For *_ffmpeg.cc only.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "skyfix/frames/ffmpeg_types.h"
#include "skyfix/frames/picture_ffmpeg.h"
#include "skyfix/frames/video_library.h"

namespace skyfix::ffmpeg {

class Reader : public FrameReader {
 public:
  // Throws as VideoLibrary::open.
  explicit Reader(const VideoReaderOptions& options);

  const ReaderInfo& info() const override { return info_; }
  Step advance() override;
  std::optional<std::int64_t> time_ns() const override;
  Image picture() override;
  const std::string& damage() const override { return damage_; }
  void stop() override { stopped_ = true; }

 private:
  static int is_interrupted(void* self);
  void open_input();
  [[noreturn]] void fail_to_open(int error) const;
  void open_decoder();
  bool has_good_frame();
  void describe();
  Step damaged(std::string why);
  std::optional<Step> feed();
  std::optional<Step> on_read_failure(int error);
  Step at_end();

  VideoReaderOptions options_;
  ReaderInfo info_;
  Owned<AVFormatContext> input_;
  Owned<AVCodecContext> decoder_;
  Owned<AVFrame> frame_;
  Owned<AVPacket> packet_;
  AVStream* stream_ = nullptr;
  PictureConverter converter_;
  std::string damage_;
  std::int64_t packets_ = 0;
  int read_failures_ = 0;  // in a row
  bool strict_ = false;
  bool end_reported_ = false;
  std::atomic<std::int64_t> waiting_since_ns_{0};
  std::atomic<bool> stopped_{false};
};

// Of cameras (Video4Linux), from libavdevice. Throws Error(bad_option) where that is missing.
const AVInputFormat* camera_format();

}  // namespace skyfix::ffmpeg
