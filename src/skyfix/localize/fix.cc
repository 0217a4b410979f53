#include "skyfix/localize/fix.h"

namespace skyfix {

std::string_view fix_status_name(FixStatus status) {
  switch (status) {
    case FixStatus::ok:
      return "ok";
    case FixStatus::rejected:
      return "rejected";
    case FixStatus::failed:
      return "failed";
    case FixStatus::skipped:
      return "skipped";
  }
  return "failed";
}

std::string_view camera_source_name(CameraSource source) {
  switch (source) {
    case CameraSource::unknown:
      return "unknown";
    case CameraSource::given:
      return "given";
    case CameraSource::map_camera:
      return "map_camera";
    case CameraSource::map_camera_scaled:
      return "map_camera_scaled";
    case CameraSource::map_camera_turned:
      return "map_camera_turned";
    case CameraSource::exif:
      return "exif";
    case CameraSource::guess:
      return "guess";
  }
  return "unknown";
}

}  // namespace skyfix
