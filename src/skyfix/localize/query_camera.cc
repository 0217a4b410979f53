#include "skyfix/localize/query_camera.h"

#include <algorithm>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/map/colmap_model.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

constexpr double kFilmWidthMm = 36;          // of the 35 mm equivalent, long side
constexpr double kGuessedFocalFactor = 1.2;  // of the long side: COLMAP's own default
constexpr double kCentredTolerancePx =
    0.25;  // principal points nearer the centre need no hypotheses

std::string size_text(int width, int height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

Camera parse_camera(std::span<const std::string_view> pieces, const fs::path& file,
                    std::size_t line_number) {
  const std::string where = "line " + std::to_string(line_number) + ": ";
  if (pieces.size() < 3)
    throw Error(Reason::bad_camera, where + "MODEL WIDTH HEIGHT expected", file);
  Camera camera;
  camera.model = camera_model_from_name(pieces[0]);
  const auto width = parse_integer(pieces[1]);
  const auto height = parse_integer(pieces[2]);
  if (!width || !height || *width < 1 || *height < 1 || *width > 1000000 || *height > 1000000) {
    throw Error(Reason::bad_camera, where + "width and height must be positive integers", file);
  }
  camera.width = static_cast<int>(*width);
  camera.height = static_cast<int>(*height);
  for (const std::string_view piece : pieces.subspan(3)) {
    const auto value = parse_double(piece);
    if (!value) {
      throw Error(Reason::bad_camera, where + "'" + std::string(piece) + "' is not a number", file);
    }
    camera.params.push_back(*value);
  }
  try {
    camera.validate();
    const Eigen::Vector2d centre = camera.principal_point();
    if (centre.x() < 0 || centre.y() < 0 || centre.x() > camera.width ||
        centre.y() > camera.height) {
      throw Error(Reason::bad_camera, "the principal point lies outside the picture");
    }
  } catch (const Error& error) {
    throw Error(error.reason(), where + error.message(), file);
  }
  return camera;
}

bool centred(const Camera& camera) {
  const Eigen::Vector2d off =
      camera.principal_point() - 0.5 * Eigen::Vector2d(camera.width, camera.height);
  return off.cwiseAbs().maxCoeff() <= kCentredTolerancePx;
}

// The camera fitted to the picture's size. Empty when the aspect fits neither way.
std::optional<QueryCamera> fit_to_picture(const Camera& camera, int width, int height,
                                          CameraSource unchanged) {
  QueryCamera result;
  if (same_aspect(camera.width, camera.height, width, height)) {
    const bool exact = camera.width == width && camera.height == height;
    const Camera fitted = exact ? camera : camera.scaled(width, height);
    const bool scaled_map_camera = !exact && unchanged == CameraSource::map_camera;
    result.source = scaled_map_camera ? CameraSource::map_camera_scaled : unchanged;
    result.hypotheses = {fitted};
    if (!exact) {
      result.warnings.push_back("assumed resized, not cropped: camera of " +
                                size_text(camera.width, camera.height) + " px scaled to " +
                                size_text(width, height) + " px");
    }
    if (!centred(fitted)) result.hypotheses.push_back(fitted.turned(2));
    return result;
  }
  if (same_aspect(camera.height, camera.width, width, height)) {
    const Camera upright = camera.scaled(height, width);
    result.source =
        unchanged == CameraSource::map_camera ? CameraSource::map_camera_turned : unchanged;
    result.hypotheses = {upright.turned(1)};
    result.warnings.push_back(
        "the picture stands across the camera's: camera turned by 90 degrees");
    if (!centred(upright)) result.hypotheses.push_back(upright.turned(-1));
    return result;
  }
  return std::nullopt;
}

[[noreturn]] void throw_mismatch(int width, int height, const std::string& than) {
  throw Error(Reason::camera_mismatch,
              "the picture's " + size_text(width, height) + " px have another aspect than " + than +
                  ": it was cropped, or is of another camera; give --cameras");
}

std::optional<QueryCamera> from_given(const std::string& name, int width, int height,
                                      const GivenCameras& given) {
  auto found = given.by_name().find(name);
  if (found == given.by_name().end()) {
    const std::string base = fs::path(name).filename().string();
    found = given.by_name().find(base);
  }
  std::vector<Camera> choices = given.cameras();
  if (found != given.by_name().end()) choices = {found->second};
  // Equal size first: several given cameras may share an aspect.
  std::stable_sort(choices.begin(), choices.end(), [&](const Camera& a, const Camera& b) {
    return (a.width == width && a.height == height) > (b.width == width && b.height == height);
  });
  std::optional<QueryCamera> chosen;
  for (const Camera& camera : choices) {
    auto fitted = fit_to_picture(camera, width, height, CameraSource::given);
    if (!fitted) continue;
    if (!chosen) {
      chosen = std::move(fitted);
    } else if (camera.width == width && camera.height == height) {
      throw Error(Reason::bad_camera, "several cameras of " + size_text(width, height) +
                                          " px are given and nothing says which is this photo's; "
                                          "give them by photo name (NAME MODEL WIDTH HEIGHT ...)");
    }
  }
  if (chosen) return chosen;
  if (!choices.empty()) throw_mismatch(width, height, "the camera given for it");
  return std::nullopt;
}

bool identity_absent(const std::string& make, const std::string& model) {
  return make.empty() && model.empty();
}

// The map's camera: by make and model, or, where the photo or the map does not say, the only one of
// the picture's aspect. Throws when make and model agree and no aspect fits, or when nothing is
// known and no aspect fits.
std::optional<QueryCamera> from_map(int width, int height, const PhotoMetadata& metadata,
                                    const Map& map) {
  const std::string make(trim(metadata.make.value_or("")));
  const std::string model(trim(metadata.model.value_or("")));
  bool relevant = false;
  std::vector<QueryCamera> fitting;
  for (const MapCamera& entry : map.cameras()) {
    const bool same = entry.make == make && entry.model == model;
    if (!same && !identity_absent(make, model) && !identity_absent(entry.make, entry.model))
      continue;
    relevant = true;
    if (auto fitted = fit_to_picture(entry.camera, width, height, CameraSource::map_camera)) {
      // A camera of the very size stands for itself even where others share its aspect.
      if (same && entry.camera.width == width && entry.camera.height == height &&
          !identity_absent(make, model)) {
        return fitted;
      }
      fitting.push_back(std::move(*fitted));
    }
  }
  if (fitting.empty()) {
    if (relevant) throw_mismatch(width, height, "every camera of the map that it could be");
    return std::nullopt;
  }
  if (fitting.size() == 1) return fitting.front();
  const Camera& first = fitting.front().hypotheses.front();
  const bool all_equal = std::all_of(fitting.begin(), fitting.end(), [&](const QueryCamera& other) {
    const Camera& camera = other.hypotheses.front();
    return std::abs(camera.focal_x() - first.focal_x()) < 0.005 * first.focal_x();
  });
  if (all_equal || !identity_absent(make, model)) {
    QueryCamera chosen = fitting.front();
    chosen.warnings.push_back(std::to_string(fitting.size()) +
                              " cameras of the map fit this picture; the first is used");
    return chosen;
  }
  return std::nullopt;
}

QueryCamera simple_camera(double focal_px, int width, int height, CameraSource source,
                          std::string warning) {
  QueryCamera result;
  result.source = source;
  Camera camera;
  camera.model = CameraModel::simple_pinhole;
  camera.width = width;
  camera.height = height;
  camera.params = {focal_px, 0.5 * width, 0.5 * height};
  result.hypotheses = {camera};
  result.warnings.push_back(std::move(warning));
  return result;
}

}  // namespace

GivenCameras GivenCameras::read(const fs::path& file) {
  GivenCameras given;
  if (file.extension() == ".bin") {
    for (const auto& [id, camera] : read_colmap_cameras(file)) given.cameras_.push_back(camera);
  } else {
    std::string text = read_file(file);
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    std::size_t line_number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view line = trim(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
      ++line_number;
      if (line.empty() || line.front() == '#') continue;
      const std::vector<std::string_view> pieces = split_blanks(line);
      const Camera camera = parse_camera(std::span(pieces).subspan(1), file, line_number);
      // COLMAP's first column is a number, hloc's a name.
      if (parse_integer(pieces[0])) {
        given.cameras_.push_back(camera);
      } else if (!given.by_name_.emplace(pieces[0], camera).second) {
        throw Error(Reason::bad_camera,
                    "line " + std::to_string(line_number) + ": the name " + std::string(pieces[0]) +
                        " stands in the file twice",
                    file);
      }
    }
  }
  if (given.empty()) throw Error(Reason::bad_camera, "the file holds no camera", file);
  return given;
}

bool same_aspect(int width_a, int height_a, int width_b, int height_b) {
  const double expected_height = double(height_a) * width_b / width_a;
  return std::abs(expected_height - height_b) <= std::max(1.0, 0.005 * height_b);
}

QueryCamera resolve_query_camera(const std::string& name, int width, int height,
                                 const PhotoMetadata& metadata, const GivenCameras& given,
                                 const Map& map) {
  if (auto camera = from_given(name, width, height, given)) return *camera;
  if (auto camera = from_map(width, height, metadata, map)) return *camera;
  const int long_side = std::max(width, height);
  if (metadata.focal_length_35mm && *metadata.focal_length_35mm > 0) {
    const double focal_px = *metadata.focal_length_35mm / kFilmWidthMm * long_side;
    return simple_camera(focal_px, width, height, CameraSource::exif,
                         "camera not in the map: focal length from EXIF's 35 mm equivalent, no "
                         "distortion; the altitude is only as good as that");
  }
  return simple_camera(
      kGuessedFocalFactor * long_side, width, height, CameraSource::guess,
      "camera unknown: focal length guessed as 1.2 x the long side; do not trust the "
      "altitude");
}

}  // namespace skyfix
