// Fuzzes the COLMAP readers: the input's first byte chooses binary or text and which file it
// becomes beside an otherwise sound model. Whatever is read must write and read back.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/map/colmap_model.h"
#include "skyfix/map/model_check.h"

namespace {

namespace fs = std::filesystem;

constexpr const char* kStems[] = {"cameras", "images", "points3D", "rigs", "frames"};

skyfix::ColmapModel sound_model() {
  using namespace skyfix;
  ColmapModel model;
  model.cameras[CameraId(1)] = {CameraModel::simple_radial, 640, 480, {500, 320, 240, 0.01}};
  ColmapImage image;
  image.id = ImageId(1);
  image.camera = CameraId(1);
  image.name = "a b.jpg";
  image.observations = {{{1, 2}, PointId(1)}};
  model.images = {image};
  ColmapPoint point;
  point.id = PointId(1);
  point.xyz = {0, 0, 5};
  point.track = {{ImageId(1), 0}};
  model.points = {point};
  model.rigs = {{RigId(1), {{SensorType::camera, 1, false, {}}}}};
  model.frames = {{FrameId(1), RigId(1), {}, {{SensorType::camera, 1, 1}}}};
  return model;
}

// Where the models lie; removed at the end.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("skyfix-colmap-fuzz-" + std::to_string(::getpid()));
  ~Scratch() { fs::remove_all(path); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skyfix;
  static const Scratch scratch;
  if (size == 0) return 0;
  const ColmapFormat format = data[0] & 1 ? ColmapFormat::text : ColmapFormat::binary;
  const std::string suffix = format == ColmapFormat::text ? ".txt" : ".bin";
  const fs::path folder = scratch.path / suffix.substr(1);
  write_colmap(sound_model(), folder, format);
  write_file_atomic(folder / (kStems[(data[0] >> 1) % 5] + suffix),
                    {reinterpret_cast<const char*>(data) + 1, size - 1});
  try {
    const ColmapModel model = read_colmap(folder);
    check_model(model);
    const fs::path again = scratch.path / "again";
    write_colmap(model, again, ColmapFormat::binary);
    if (read_colmap(again).images.size() != model.images.size()) std::abort();
  } catch (const Error&) {
    // Damaged input is refused; anything else escapes and is a find.
  }
  return 0;
}
