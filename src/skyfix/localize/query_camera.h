// The camera of a query photo, and where it comes from: given > the map's camera of the same make
// and model (scaled, or turned for the inverted aspect) > EXIF > a stated guess. A wrong focal
// length hides in the altitude of a nadir view, so the source is part of every record.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/image/metadata.h"
#include "skyfix/localize/fix.h"
#include "skyfix/map/map_folder.h"

namespace skyfix {

// Cameras the user gives: COLMAP's cameras.txt or cameras.bin (one camera: holds for all photos;
// several: by equal size and aspect), or an hloc query list (name MODEL width height params...).
class GivenCameras {
 public:
  GivenCameras() = default;
  // Throws Error(unreadable_file | bad_camera | unsupported_camera_model) with the line.
  static GivenCameras read(const std::filesystem::path& file);
  bool empty() const { return by_name_.empty() && cameras_.empty(); }
  const std::map<std::string, Camera>& by_name() const { return by_name_; }
  const std::vector<Camera>& cameras() const { return cameras_; }

 private:
  std::map<std::string, Camera> by_name_;
  std::vector<Camera> cameras_;
};

struct QueryCamera {
  CameraSource source = CameraSource::unknown;
  // Hypotheses, the likeliest first. More than one only where the picture may have been turned
  // either way and the principal point is off the centre, so that the turn matters.
  std::vector<Camera> hypotheses;
  std::vector<std::string> warnings;
};

// Two aspects are the same when scaling one picture to the other's width changes its height by at
// most one pixel (or 0.5 %): resizing tools round.
bool same_aspect(int width_a, int height_a, int width_b, int height_b);

// Throws Error(camera_mismatch) when the picture's aspect fits no camera it could have.
QueryCamera resolve_query_camera(const std::string& name, int width, int height,
                                 const PhotoMetadata& metadata, const GivenCameras& given,
                                 const Map& map);

}  // namespace skyfix
