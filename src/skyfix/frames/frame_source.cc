#include "skyfix/frames/frame_source.h"

#include <cmath>

#include "skyfix/frames/sources.h"

namespace skyfix {

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
  require(queue_frames >= 1 && queue_frames <= 1000,
          "--queue is " + std::to_string(queue_frames) + "; allowed is 1 to 1000 frames");
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
  return open_photo_frames(options);
}

}  // namespace skyfix
