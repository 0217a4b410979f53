// reference.json ("skyfix-reference", version 1): poses to judge a run by.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/geo/rigid3.h"

namespace skyfix {

struct ReferencePose {
  std::string name;
  Rigid3 cam_from_world;
};

struct Reference {
  std::filesystem::path file;
  std::string sha256;  // of the file
  std::string dataset;
  std::string frame_kind;  // as the file says
  std::string accuracy;    // as the file says; may be empty
  // Metric frames are east-north-up in metres: x, y are the horizontal plane. Others have an
  // arbitrary unit and up direction; errors there are per cent of the camera path.
  bool metric = true;
  std::vector<ReferencePose> queries;  // natural order of names
  // Only for frames that are not metric: length of the camera path in the file's units, and how it
  // was found.
  double path_length = 0;
  std::string path_length_source;
};

// Throws Error(unreadable_file) or Error(bad_reference) that names the entry: another format or
// version, an unknown kind of frame, no queries, poses that are not finite or not unit quaternions
// (1e-3), a listed centre that contradicts its pose.
Reference read_reference(const std::filesystem::path& file);

// Length of the path through the centres in natural order of names. Steps across a gap are not
// counted: where names end in frame numbers, a step of more than the commonest number difference.
double camera_path_length(std::vector<ReferencePose> poses);

}  // namespace skyfix
