// Fuzzes the text files that a user hands to localize: photo lists and camera lists.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/localize/input_list.h"
#include "skyfix/localize/query_camera.h"

namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path folder = fs::temp_directory_path() / ("skyfix-list-fuzz-" + std::to_string(::getpid()));
  Scratch() { skyfix::write_file_atomic(folder / "a.jpg", "x"); }
  ~Scratch() { fs::remove_all(folder); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr const char* kNames[] = {"photos.txt", "cameras.txt", "cameras.bin"};
  const fs::path file = scratch.folder / kNames[data[0] % 3];
  skyfix::write_file_atomic(file, text);
  try {
    if (data[0] % 3 == 0) {
      skyfix::list_input(file);
    } else {
      skyfix::GivenCameras::read(file);
    }
  } catch (const skyfix::Error&) {
    // Refusing is right.
  }
  return 0;
}
