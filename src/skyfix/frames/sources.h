// The kinds of sources behind open_frames(). For this room's own sources.
#pragma once

#include <memory>

#include "skyfix/frames/frame_source.h"

namespace skyfix {

// A photo, folder or list.
std::unique_ptr<FrameSource> open_photo_frames(const FrameSourceOptions& options);

}  // namespace skyfix
