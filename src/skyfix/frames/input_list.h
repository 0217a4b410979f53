// Which photos a run works on: a file, a folder (searched with its sub-folders) or a text list.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skyfix/frames/frame_source.h"

namespace skyfix {

struct InputPhoto {
  std::string name;            // relative to the folder or list, with '/'; unique within the input
  std::filesystem::path path;  // where it is read from
  std::int64_t index = 0;      // from 1, in natural order of the whole input
};

struct InputList {
  std::vector<InputPhoto> photos;  // natural order of names
  int ignored_files = 0;           // hidden files, side files and files not named like an image
  bool differs_from_text_order = false;  // natural order is not the order of a plain text sort
};

// `input` is an image file, a folder, or a text file (.txt, .lst, .list) with one path a line,
// relative to the list's folder, '#' comments allowed; the first column of an hloc query list works
// too. Throws Error(no_input) when nothing is left, Error(bad_list) naming line and path for
// entries that do not exist or stand twice, Error(unreadable_file).
InputList list_input(const std::filesystem::path& input);

// Keeps the photos from `first` to `last`, both counted from 1 and inclusive; last = -1 means the
// end. Throws Error(bad_option) when the range is empty or starts below 1.
void select_range(InputList& list, std::int64_t first, std::int64_t last);

// By its name: .txt, .lst, .list.
bool looks_like_list_name(const std::filesystem::path& file);

// Names, sizes and times of the photos: whether they are those of an earlier run.
std::string photo_fingerprint(std::span<const InputPhoto> photos);

// The photos as frames; info() knows how many they are.
std::unique_ptr<FrameSource> photo_frames(std::vector<InputPhoto> photos);

}  // namespace skyfix
