#include "skyfix/cli/frame_options.h"

namespace skyfix::cli {

FrameSourceOptions FrameArguments::parsed() const {
  FrameSourceOptions parsed = options;
  parsed.drop = drop_policy_from_name(drop_policy);
  parsed.validate();
  return parsed;
}

void add_frame_options(CLI::App& app, FrameArguments& arguments) {
  FrameSourceOptions& options = arguments.options;
  app.add_option("--input,--images,--image_folder,--video_path", options.input,
                 "Photo, folder of photos, text file with one path a line, video, rtsp://..., "
                 "/dev/video0, or - (a pipe)")
      ->required();
  app.add_option("--fps", options.fps,
                 "Of a video, about so many frames a second: every n-th, n = source / fps rounded; "
                 "0 = all")
      ->capture_default_str();
  app.add_option("--stride", options.stride, "Of what is left, every n-th frame")
      ->capture_default_str();
  app.add_option("--query-start,--first-frame", options.first,
                 "First frame of the input, counted from 1")
      ->capture_default_str();
  app.add_option("--query-end,--last-frame", options.last, "Last frame, included; -1 = the last")
      ->capture_default_str();
  app.add_option("--srt", options.srt,
                 "DJI's side file of a video (default: NAME.SRT beside it, where there is one)");
  app.add_option("--queue", options.queue_frames, "Live: frames that may wait")
      ->capture_default_str();
  app.add_option("--drop-policy", arguments.drop_policy,
                 "Live, when frames come too fast: oldest (they are dropped, and counted) or block "
                 "(the sender waits)")
      ->capture_default_str();
  app.add_option("--pipe-format", options.pipe_format,
                 "Of --input -: mjpeg, or rgb24:WIDTHxHEIGHT@FPS")
      ->capture_default_str();
}

}  // namespace skyfix::cli
