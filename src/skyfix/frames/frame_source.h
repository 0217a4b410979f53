// Where frames come from: a photo, a folder or list of photos, a video file, or something live
// (rtsp://, /dev/video0, a pipe on standard input). One interface, for localize and reconstruct.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/image/image.h"
#include "skyfix/image/metadata.h"

namespace skyfix {

enum class FrameSourceKind { photo, folder, list, video, live };
std::string_view frame_source_kind_name(FrameSourceKind kind);

struct SourceFrame {
  std::string name;            // unique within the input: "DJI_0001.JPG", "clip.mp4#000123"
  std::int64_t index = 0;      // from 1, counted over the whole input before --stride and --fps
  std::filesystem::path file;  // photos; empty for frames of a video
  // Photos: empty, see upright_rgb(). Videos: RGB, as shown (the stream's rotation is applied).
  Image pixels;
  // Presentation time since the first frame of the video; photos have none.
  std::optional<std::int64_t> time_ns;
  // Live: when it arrived, on the steady clock, for capture-to-result latency.
  std::optional<std::int64_t> arrived_steady_ns;
  // Photos: not read here. Videos: what the DJI SRT file beside it says at this time.
  PhotoMetadata metadata;
  // Why there is no picture; name and index are valid all the same. The source goes on after it.
  std::optional<Reason> failure;
  std::string failure_text;  // one sentence
};

// What is known before the first frame.
struct FrameSourceInfo {
  FrameSourceKind kind = FrameSourceKind::photo;
  std::optional<std::int64_t> frames;  // that next() will give; videos: as the container claims
  int width = 0;                       // of the first frame as shown, px; 0 = not known
  int height = 0;
  std::optional<double> frames_per_second;  // of the source, before --fps
  std::string
      configuration;  // what results depend on, for run manifests: kind, names, sizes, times
  std::vector<std::string> notes;  // warnings, a sentence each (order differs from text order)
  int ignored_files = 0;
};

struct FrameSourceFigures {
  std::int64_t given = 0;       // frames that next() gave, failures included
  std::int64_t unreadable = 0;  // of these
  std::int64_t dropped = 0;     // live: thrown away because the reader was too slow
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  virtual const FrameSourceInfo& info() const = 0;
  // The next frame; nullopt at the end. A live source waits for one. Throws Error when the source
  // itself is lost for good and not merely at its end (a camera unplugged: source_lost).
  virtual std::optional<SourceFrame> next() = 0;
  // From any thread: a waiting next() gives nullopt soon, and every later one too.
  virtual void stop() {}
  virtual FrameSourceFigures figures() const = 0;
};

// What a live source does when frames come faster than they are taken.
enum class DropPolicy {
  oldest,  // the newest frames stay in the queue: least latency
  block,   // nothing is dropped here; the sender waits (pipes) or drops by itself
};
std::string_view drop_policy_name(DropPolicy policy);
DropPolicy drop_policy_from_name(std::string_view name);  // throws Error(bad_option)

struct FrameSourceOptions {
  // Photo, folder, list (.txt .lst .list), video file, "rtsp://...", "/dev/videoN", "-".
  std::string input = {};
  double fps = 0;           // 0 = every frame; else every max(1, round(source fps / fps))-th
  std::int64_t stride = 1;  // keep every n-th of what --fps left
  std::int64_t first = 1;   // first and last frame of the input, from 1, inclusive; -1 = the end
  std::int64_t last = -1;
  std::filesystem::path srt = {};  // side file of a video; empty = NAME.SRT or NAME.srt beside it
  int queue_frames = 8;            // bound of a live source's queue
  DropPolicy drop = DropPolicy::oldest;
  // Of "-": "mjpeg" or "rgb24:WIDTHxHEIGHT@FPS".
  std::string pipe_format = "mjpeg";
  // Throws Error(bad_option) naming the option.
  void validate() const;
};

// Throws Error(no_input | bad_list | unreadable_file | not_a_video | bad_option); what is missing
// for videos (libskyfix_video.so) is named with the remedy.
std::unique_ptr<FrameSource> open_frames(const FrameSourceOptions& options);

// `input` as it may be written down: without the name and password of an rtsp:// address.
std::string shown_input(const std::string& input);

// The frame's picture as shown, RGB: a photo's EXIF orientation is applied, transparency lies over
// white. Throws as decode_image, and the frame's own failure.
Image upright_rgb(const SourceFrame& frame, double max_megapixels = 400);

// `source` read ahead by a thread that also decodes: at most `depth` frames wait. Frames leave it
// with `pixels` filled by upright_rgb (failures stay failures). Same frames, same order.
std::unique_ptr<FrameSource> read_ahead(std::unique_ptr<FrameSource> source, int depth = 2);

}  // namespace skyfix
