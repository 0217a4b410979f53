// What video_source and live_source read from: one frame after the other, whatever decodes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/image/image.h"

namespace skyfix {

struct ReaderInfo {
  int width = 0;  // as decoded, before `orientation`; 0 = not known yet
  int height = 0;
  int orientation = 1;  // what has to be done to show it, as EXIF counts (1..8)
  std::optional<double> frames_per_second;
  std::optional<std::int64_t> frames;  // as the container claims
  std::string description;             // "h264 in mov, yuv420p"
  std::vector<std::string> notes;
};

class FrameReader {
 public:
  enum class Step {
    frame,    // picture() may be asked for
    damaged,  // there was a frame, and damage() says why it cannot be had
    end,
  };
  virtual ~FrameReader() = default;
  virtual const ReaderInfo& info() const = 0;
  // Goes on to the next frame. Throws Error(source_lost) when a device or stream breaks.
  virtual Step advance() = 0;
  // Presentation time of the frame, with a zero of the source's own; nullopt where it has none.
  virtual std::optional<std::int64_t> time_ns() const = 0;
  // RGB, before the orientation. Throws Error.
  virtual Image picture() = 0;
  virtual const std::string& damage() const = 0;
  // From any thread: a waiting advance() ends soon, with Step::end.
  virtual void stop() {}
};

}  // namespace skyfix
