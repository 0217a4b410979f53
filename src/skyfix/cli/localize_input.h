// The input of `skyfix localize`: photos, a video, or something live.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "skyfix/frames/frame_source.h"
#include "skyfix/frames/input_list.h"
#include "skyfix/image/image.h"
#include "skyfix/report/run_folder.h"

namespace skyfix::cli {

struct LocalizeInput {
  std::unique_ptr<FrameSource> source;
  std::vector<InputPhoto> photos;  // where the input is photos: all of them
  FrameSourceInfo info;
  std::string shown;  // what was given, fit to be written down

  bool is_photos() const {
    return info.kind != FrameSourceKind::video && info.kind != FrameSourceKind::live;
  }
  bool is_live() const { return info.kind == FrameSourceKind::live; }
  // How many frames to plan for.
  std::int64_t frames_expected() const;
};

// Throws as open_frames; says its warnings.
LocalizeInput open_localize_input(const FrameSourceOptions& options);

// What --dry-run prints. Throws Error(bad_option) for live input.
void list_frames(LocalizeInput& input);

// Of the largest picture that is known of: photos' sizes come from their headers alone.
std::optional<ImageInfo> largest_size(const LocalizeInput& input);

// Names the inputs, or what they are in a video.
void describe_input(const LocalizeInput& input, RunSetup& setup);

}  // namespace skyfix::cli
