// The kinds of sources behind open_frames(). For this room's own sources.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "skyfix/frames/frame_reader.h"
#include "skyfix/frames/frame_source.h"

namespace skyfix {

// A photo, folder or list.
std::unique_ptr<FrameSource> open_photo_frames(const FrameSourceOptions& options);

// A video file, through FFmpeg or any other reader.
std::unique_ptr<FrameSource> open_video_frames(const FrameSourceOptions& options);
std::unique_ptr<FrameSource> video_frames(const FrameSourceOptions& options,
                                          std::unique_ptr<FrameReader> reader);

// Something live: "rtsp://...", "/dev/videoN", "-"; read by a thread into a bounded queue. With any
// other reader: `name` stands before '#' in the frames' names.
std::unique_ptr<FrameSource> open_live_frames(const FrameSourceOptions& options);
std::unique_ptr<FrameSource> live_frames(const FrameSourceOptions& options, std::string name,
                                         std::unique_ptr<FrameReader> reader);
// The pipe's end that is read, by its number; it is not closed.
std::unique_ptr<FrameReader> open_pipe(int descriptor, const std::string& format);

// "clip.mp4#000123"
std::string numbered_name(const std::string& source, std::int64_t index);

// The frame that the reader stands at, upright, or why there is none.
void read_picture(FrameReader& reader, SourceFrame& frame);
FrameSourceInfo info_of(const ReaderInfo& reader, FrameSourceKind kind);

}  // namespace skyfix
