#include "skyfix/simulate/simulate.h"

#include <fmt/format.h>

#include <mutex>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/parallel.h"
#include "skyfix/image/metadata.h"
#include "skyfix/simulate/flight.h"
#include "skyfix/simulate/landmarks.h"
#include "skyfix/simulate/noise.h"
#include "skyfix/simulate/reference.h"
#include "skyfix/simulate/tracks.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;

// Detections of one place scatter by about this much between photos.
constexpr double kMergeRadiusPx = 1.5;
constexpr double kQueryBlurPx = 0.6;

Light map_light() { return {}; }
// Two hours later, hazier.
Light query_light() { return {165, 45, 0.85, 1.12}; }

// Nothing is mixed with what somebody has there, and nothing is deleted.
void require_empty(const fs::path& out) {
  std::error_code failure;
  if (!fs::exists(out, failure)) return;
  if (!fs::is_directory(out, failure)) {
    throw Error(Reason::unwritable_output, "a file is in the way; name another folder", out);
  }
  if (!fs::is_empty(out, failure) || failure) {
    throw Error(Reason::unwritable_output,
                "the folder holds other files; name a new or an empty one", out);
  }
}

std::vector<std::string> app1_segments(const SimulatedFlight& flight, const SimulatedPhoto& photo,
                                       std::size_t index, bool query) {
  const Camera& camera = flight.camera;
  constexpr double kFilmWidthMm = 36;
  constexpr double kSensorWidthMm = 13.2;
  PhotoMetadata m;
  m.make = sim::kCameraMake;
  m.model = sim::kCameraModel;
  m.orientation = 1;
  m.exif_width = camera.width;
  m.exif_height = camera.height;
  m.focal_length_mm = camera.focal_x() / camera.width * kSensorWidthMm;
  m.focal_length_35mm = camera.focal_x() / camera.width * kFilmWidthMm;
  const std::size_t second = 2 * index;
  m.datetime_original =
      fmt::format("2024:06:01 {:02d}:{:02d}:{:02d}", (query ? 12 : 10) + second / 3600,
                  second / 60 % 60, second % 60);
  m.latitude_deg = photo.gps.latitude_deg;
  m.longitude_deg = photo.gps.longitude_deg;
  m.altitude_m = photo.gps.h_ellipsoid;
  m.altitude_ref = photo.gps.h_ellipsoid < 0 ? 1 : 0;
  m.gimbal_yaw_deg = photo.gimbal.yaw_deg;
  m.gimbal_pitch_deg = photo.gimbal.pitch_deg;
  m.gimbal_roll_deg = photo.gimbal.roll_deg;
  m.relative_altitude_m = photo.cam_from_enu.centre().z();
  m.absolute_altitude_m = photo.gps.h_ellipsoid;
  return {make_exif_segment(m), make_xmp_segment(m)};
}

// Renders and writes all photos; gives the surface points detected in each map photo.
class PhotoWriter {
 public:
  PhotoWriter(const SimulateOptions& options, const Scene& scene, const SimulatedFlight& flight,
              const fs::path& out, Progress& progress)
      : options_(options), scene_(scene), flight_(flight), out_(out), progress_(progress) {}

  std::vector<std::vector<Eigen::Vector3d>> write_all() {
    const std::size_t map_count = flight_.map_photos.size();
    const std::size_t count = map_count + flight_.query_photos.size();
    std::vector<std::vector<Eigen::Vector3d>> detected(map_count);
    progress_.start("rendering photos", count);
    parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (i < map_count) {
          detected[i] = write_map_photo(i);
        } else {
          write_query_photo(i - map_count);
        }
        const std::lock_guard lock(progress_lock_);
        progress_.advance();
      }
    });
    progress_.finish();
    return detected;
  }

 private:
  std::vector<Eigen::Vector3d> write_map_photo(std::size_t index) {
    const SimulatedPhoto& photo = flight_.map_photos[index];
    const Image image = render(scene_, flight_.camera, photo.cam_from_enu, map_light(), 0,
                               grain_seed(index, false));
    write_jpeg(out_ / sim::kMapImages / photo.name, image, options_.jpeg_quality,
               app1_segments(flight_, photo, index, false));
    return sim::detect_surface_points(scene_, flight_.camera, photo.cam_from_enu, image);
  }

  void write_query_photo(std::size_t index) {
    const SimulatedPhoto& photo = flight_.query_photos[index];
    const Image image = render(scene_, flight_.camera, photo.cam_from_enu, query_light(),
                               kQueryBlurPx, grain_seed(index, true));
    write_jpeg(out_ / sim::kQueryImages / photo.name, image, options_.jpeg_quality,
               app1_segments(flight_, photo, index, true));
  }

  std::uint64_t grain_seed(std::size_t index, bool query) const {
    return sim::scramble(options_.seed) + 2 * index + query;
  }

  const SimulateOptions& options_;
  const Scene& scene_;
  const SimulatedFlight& flight_;
  const fs::path& out_;
  Progress& progress_;
  std::mutex progress_lock_;
};

}  // namespace

void simulate(const SimulateOptions& options, const fs::path& out, Progress& progress) {
  options.validate();
  require_empty(out);
  const Scene scene(options.seed, scene_half_size_m(options));
  SimulatedFlight flight = sim::plan_flight(options);
  for (const char* folder : {sim::kMapImages, sim::kQueryImages, sim::kModel}) {
    make_folder(out / folder);
  }
  const auto detected = PhotoWriter(options, scene, flight, out, progress).write_all();
  const double pixel_on_ground_m = options.altitude_m / flight.camera.focal_x();
  const auto landmarks = sim::choose_landmarks(scene, detected, kMergeRadiusPx * pixel_on_ground_m,
                                               std::size_t(options.points));
  flight.model = sim::build_model(scene, flight, landmarks, landmarks.size());
  write_colmap(flight.model, out / sim::kModel, ColmapFormat::binary);
  write_file_atomic(out / "reference.json", sim::reference_json(flight));  // last: all is there
}

}  // namespace skyfix
