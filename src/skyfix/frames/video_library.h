// FFmpeg, behind a library of our own that is opened when a video, a stream or a camera is asked
// for: libskyfix_video.so (SKYFIX_VIDEO_LIBRARY, then ../lib beside the program). What is not read
// with it does without FFmpeg. docs/decisions/0006-frames.md says why.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "skyfix/frames/frame_reader.h"

namespace skyfix {

struct VideoReaderOptions {
  std::string url;    // a file's path, "rtsp://..." or "/dev/video0"
  bool live = false;  // little delay before throughput; what breaks is Error(source_lost)
  int threads = 1;    // of the decoder
  double max_megapixels = 400;
  double timeout_s = 10;  // live: without a frame for so long it counts as lost
};

class VideoLibrary {
 public:
  // Opens the library at the first call.
  static const VideoLibrary& instance();
  bool loaded() const { return entry_ != nullptr; }
  const std::string& why_not() const { return why_not_; }  // with the remedy
  const std::filesystem::path& path() const { return path_; }
  std::string versions() const;  // "libavformat 59.27.100, ..."; empty when it is not loaded

  // Throws Error(not_a_video | unreadable_file | source_lost | image_too_large), and
  // Error(bad_option) when the library is not loaded.
  std::unique_ptr<FrameReader> open(const VideoReaderOptions& options) const;

 private:
  VideoLibrary();
  std::filesystem::path path_;
  std::string why_not_;
  const struct VideoLibraryEntry* entry_ = nullptr;
};

// What libskyfix_video.so exports as skyfix_video(). Changed together with kVideoInterface.
inline constexpr int kVideoInterface = 1;
struct VideoLibraryEntry {
  int interface;
  std::string (*versions)();
  std::unique_ptr<FrameReader> (*open)(const VideoReaderOptions&);
};

}  // namespace skyfix
