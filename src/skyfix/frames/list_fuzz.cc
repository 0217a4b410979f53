// Fuzzes the photo lists that a user hands to localize and reconstruct.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/frames/input_list.h"

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
  const fs::path file = scratch.folder / "photos.txt";
  skyfix::write_file_atomic(file, {reinterpret_cast<const char*>(data), size});
  try {
    skyfix::list_input(file);
  } catch (const skyfix::Error&) {
    // Refusing is right.
  }
  return 0;
}
