// What libskyfix_video.so exports.
#include <dlfcn.h>

extern "C" {
#include <libavdevice/version.h>
}

#include "skyfix/base/error.h"
#include "skyfix/frames/reader_ffmpeg.h"

namespace skyfix::ffmpeg {
namespace {

std::string version_text(const char* name, unsigned version) {
  return std::string(name) + " " + std::to_string(AV_VERSION_MAJOR(version)) + "." +
         std::to_string(AV_VERSION_MINOR(version)) + "." +
         std::to_string(AV_VERSION_MICRO(version));
}

std::string versions() {
  return version_text("libavformat", avformat_version()) + ", " +
         version_text("libavcodec", avcodec_version()) + ", " +
         version_text("libswscale", swscale_version()) + "; " + avcodec_license();
}

std::unique_ptr<FrameReader> open(const VideoReaderOptions& options) {
  av_log_set_level(AV_LOG_QUIET);  // what matters comes back as an error
  return std::make_unique<Reader>(options);
}

}  // namespace

const AVInputFormat* camera_format() {
  const std::string library = "libavdevice.so." + std::to_string(LIBAVDEVICE_VERSION_MAJOR);
  if (void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    using Register = void (*)();
    if (const auto add = reinterpret_cast<Register>(::dlsym(handle, "avdevice_register_all"))) {
      add();
    }
  }
  const AVInputFormat* format = av_find_input_format("v4l2");
  if (format == nullptr) {
    throw Error(Reason::bad_option, "cameras need FFmpeg's " + library + ": install libavdevice" +
                                        std::to_string(LIBAVDEVICE_VERSION_MAJOR));
  }
  return format;
}

}  // namespace skyfix::ffmpeg

extern "C" __attribute__((visibility("default"))) const skyfix::VideoLibraryEntry* skyfix_video() {
  static const skyfix::VideoLibraryEntry entry{skyfix::kVideoInterface, &skyfix::ffmpeg::versions,
                                               &skyfix::ffmpeg::open};
  return &entry;
}
