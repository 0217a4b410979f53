#include "skyfix/frames/frame_source.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "skyfix/base/text.h"
#include "skyfix/frames/pipe_reader.h"
#include "skyfix/frames/sources.h"

namespace skyfix {

namespace {

bool is_live(const std::string& input) {
  return input == "-" || input.starts_with("rtsp://") || input.starts_with("rtsps://") ||
         input.starts_with("/dev/video");
}

constexpr const char* kVideoExtensions[] = {".mp4",  ".mov",  ".mkv",  ".avi",  ".m4v", ".mts",
                                            ".m2ts", ".ts",   ".webm", ".mpg",  ".3gp", ".wmv",
                                            ".mpeg", ".h264", ".h265", ".hevc", ".flv", ".mjpeg"};

// By its name, or else by its first bytes (MP4, Matroska).
bool is_video(const std::filesystem::path& input) {
  std::error_code failure;
  if (std::filesystem::is_directory(input, failure)) return false;
  const std::string extension = to_lower(input.extension().string());
  for (const char* known : kVideoExtensions) {
    if (extension == known) return true;
  }
  char head[12] = "";
  std::ifstream file(input, std::ios::binary);
  file.read(head, sizeof head);
  const std::string_view bytes(head, static_cast<std::size_t>(file.gcount()));
  return (bytes.size() > 8 && bytes.substr(4, 4) == "ftyp") ||
         bytes.starts_with("\x1a\x45\xdf\xa3");
}

}  // namespace

std::string_view frame_source_kind_name(FrameSourceKind kind) {
  switch (kind) {
    case FrameSourceKind::photo:
      return "photo";
    case FrameSourceKind::folder:
      return "folder";
    case FrameSourceKind::list:
      return "list";
    case FrameSourceKind::video:
      return "video";
    case FrameSourceKind::live:
      return "live";
  }
  return "photo";
}

std::string_view drop_policy_name(DropPolicy policy) {
  return policy == DropPolicy::oldest ? "oldest" : "block";
}

DropPolicy drop_policy_from_name(std::string_view name) {
  for (const DropPolicy policy : {DropPolicy::oldest, DropPolicy::block}) {
    if (name == drop_policy_name(policy)) return policy;
  }
  throw Error(Reason::bad_option,
              "--drop-policy is " + std::string(name) + "; allowed are oldest and block");
}

void FrameSourceOptions::validate() const {
  const auto require = [](bool allowed, const std::string& text) {
    if (!allowed) throw Error(Reason::bad_option, text);
  };
  require(!input.empty(), "--input is missing: photos, a video or something live");
  require(std::isfinite(fps) && fps >= 0,
          "--fps is " + std::to_string(fps) + "; allowed is 0 (every frame) or more");
  require(stride >= 1, "--stride is " + std::to_string(stride) + "; allowed is 1 or more");
  require(first >= 1 && (last == -1 || last >= first),
          "the range " + std::to_string(first) + " to " + std::to_string(last) +
              " selects no frame; frames count from 1, both ends are included, -1 is the last");
  if (input == "-") parse_pipe_format(pipe_format);
  require(queue_frames >= 1 && queue_frames <= 1000,
          "--queue is " + std::to_string(queue_frames) + "; allowed is 1 to 1000 frames");
}

std::string shown_input(const std::string& input) {
  const std::size_t scheme = input.find("://");
  if (scheme == std::string::npos) return input;
  const std::size_t host = scheme + 3;
  const std::size_t end = std::min(input.find('/', host), input.size());
  const std::size_t at = input.rfind('@', end);
  if (at == std::string::npos || at < host) return input;
  return input.substr(0, host) + "***" + input.substr(at);
}

Image upright_rgb(const SourceFrame& frame, double max_megapixels) {
  if (frame.failure) throw Error(*frame.failure, frame.failure_text, frame.file);
  if (frame.file.empty()) return frame.pixels;
  const DecodeOptions options{
      .grey = false, .max_megapixels = max_megapixels, .alpha = Alpha::over_white};
  Image image = decode_image(frame.file, options);
  const int orientation = read_metadata(frame.file).orientation.value_or(1);
  return orientation == 1 ? std::move(image) : upright(image, orientation);
}

std::unique_ptr<FrameSource> open_frames(const FrameSourceOptions& options) {
  options.validate();
  if (is_live(options.input)) return open_live_frames(options);
  if (options.input.find("://") != std::string::npos) {
    throw Error(Reason::bad_option, "of addresses only rtsp:// can be read", options.input);
  }
  return is_video(options.input) ? open_video_frames(options) : open_photo_frames(options);
}

}  // namespace skyfix
