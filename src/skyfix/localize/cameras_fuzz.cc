// Fuzzes the camera lists that a user hands to localize.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/localize/query_camera.h"

namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path folder =
      fs::temp_directory_path() / ("skyfix-cameras-fuzz-" + std::to_string(::getpid()));
  ~Scratch() { fs::remove_all(folder); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const fs::path file = scratch.folder / (data[0] % 2 == 0 ? "cameras.txt" : "cameras.bin");
  skyfix::write_file_atomic(file, text);
  try {
    skyfix::GivenCameras::read(file);
  } catch (const skyfix::Error&) {
    // Refusing is right.
  }
  return 0;
}
