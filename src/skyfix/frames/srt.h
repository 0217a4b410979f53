// The side files that DJI's cameras write beside their videos: subtitles with a position each
// second or each frame (docs/formats.md, "DJI's SRT side files").
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/image/metadata.h"

namespace skyfix {

struct SrtEntry {
  std::int64_t start_ns = 0;  // since the start of the video
  std::int64_t end_ns = 0;
  PhotoMetadata metadata;  // position, altitudes, gimbal: what stands there
};

class SrtTrack {
 public:
  SrtTrack() = default;
  // Reads what it can and ignores the rest; never throws for contents. Dialects:
  //   [latitude: 30.1] [longitude: 120.2] [rel_alt: 1.3 abs_alt: 8.5] [gb_yaw: ..]  (longtitude
  //   too) GPS(120.2, 30.1, 15) ... H 28.0m   longitude first in some models and latitude in
  //   others:
  //     settled by the first number beyond 90 in the whole file; where none is, no position, a note
  static SrtTrack parse(std::string_view text);
  // Throws Error(unreadable_file), also where the file holds no times or no telemetry.
  static SrtTrack read(const std::filesystem::path& file);

  // What was said at a time: the entry that covers it, else the nearest, at most one interval away.
  const PhotoMetadata* at(std::int64_t time_ns) const;
  const std::vector<SrtEntry>& entries() const { return entries_; }  // by start
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<SrtEntry> entries_;
  std::vector<std::string> notes_;
  std::int64_t interval_ns_ = 0;  // median from start to start
};

}  // namespace skyfix
