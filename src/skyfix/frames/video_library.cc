#include "skyfix/frames/video_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "skyfix/base/error.h"

namespace skyfix {
namespace fs = std::filesystem;
namespace {

fs::path library_path() {
  if (const char* given = std::getenv("SKYFIX_VIDEO_LIBRARY")) return given;
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  return program.parent_path().parent_path() / "lib" / "libskyfix_video.so";
}

}  // namespace

VideoLibrary::VideoLibrary() : path_(library_path()) {
  std::error_code failure;
  if (!fs::exists(path_, failure)) {
    why_not_ = path_.string() + " is not there: this build has no video part";
    return;
  }
  void* handle = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = ::dlerror();
    why_not_ = std::string(text == nullptr ? "unknown error of dlopen" : text) +
               ": install FFmpeg's libraries (libavformat, libavcodec, libswscale)";
    return;
  }
  using Entry = const VideoLibraryEntry* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "skyfix_video"));
  if (entry == nullptr || entry()->interface != kVideoInterface) {
    why_not_ = path_.string() + " is of another version of Skyfix: build again";
    return;
  }
  entry_ = entry();
}

const VideoLibrary& VideoLibrary::instance() {
  static const VideoLibrary library;
  return library;
}

std::string VideoLibrary::versions() const {
  return entry_ == nullptr ? std::string() : entry_->versions();
}

std::unique_ptr<FrameReader> VideoLibrary::open(const VideoReaderOptions& options) const {
  if (entry_ == nullptr) {
    throw Error(Reason::bad_option,
                "videos cannot be read: " + why_not_ +
                    ". Folders of photos and pipes (--input -) "
                    "do without",
                options.url);
  }
  return entry_->open(options);
}

}  // namespace skyfix
