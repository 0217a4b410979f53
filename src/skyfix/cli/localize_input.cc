#include "skyfix/cli/localize_input.h"

#include <cstdio>

#include "skyfix/base/hash.h"
#include "skyfix/base/log.h"

namespace skyfix::cli {
namespace fs = std::filesystem;

namespace {

// Of a video whose length is not known and of what is live: an hour of three frames a second.
constexpr std::int64_t kFramesOfUnknown = 10'000;

std::vector<InputPhoto> photos_of(FrameSource& source) {
  std::vector<InputPhoto> photos;
  while (const auto frame = source.next()) {
    photos.push_back({frame->name, frame->file, frame->index});
  }
  return photos;
}

}  // namespace

std::int64_t LocalizeInput::frames_expected() const {
  return info.frames.value_or(kFramesOfUnknown);
}

LocalizeInput open_localize_input(const FrameSourceOptions& options) {
  LocalizeInput input;
  input.source = open_frames(options);
  input.info = input.source->info();
  for (const std::string& note : input.info.notes) log::warn("{}", note);
  if (input.info.ignored_files > 0) {
    log::info("{} files are not images (by name) and were left out", input.info.ignored_files);
  }
  if (input.is_photos()) {
    input.photos = photos_of(*input.source);
    input.source = photo_frames(input.photos);
  } else if (!input.is_live()) {
    input.source = read_ahead(std::move(input.source));
  }
  input.shown = input.is_live() ? shown_input(options.input) : fs::absolute(options.input).string();
  return input;
}

void list_frames(LocalizeInput& input) {
  if (input.is_live()) {
    throw Error(Reason::bad_option, "--dry-run lists frames, and those of live input are to come");
  }
  while (const auto frame = input.source->next()) {
    std::printf("%lld\t%s\n", static_cast<long long>(frame->index), frame->name.c_str());
  }
}

std::optional<ImageInfo> largest_size(const LocalizeInput& input) {
  std::optional<ImageInfo> largest;
  if (input.info.width > 0) largest = ImageInfo{input.info.width, input.info.height, ""};
  const auto pixels = [](const ImageInfo& info) { return std::int64_t{info.width} * info.height; };
  for (const InputPhoto& photo : input.photos) {
    try {
      const ImageInfo info = probe_image(photo.path);
      if (!largest || pixels(info) > pixels(*largest)) largest = info;
    } catch (const Error&) {
      // A photo that cannot be read gets its record later.
    }
  }
  return largest;
}

void describe_input(const LocalizeInput& input, RunSetup& setup) {
  // A run is not gone on with over replaced photos, or another video.
  const char* key = input.is_photos() ? "photos_sha256" : "source_sha256";
  setup.configuration[key] = sha256_hex(input.info.configuration);
  setup.about["input"] = input.shown;
  setup.about["ignored_files"] = input.info.ignored_files;
  setup.inputs_known = input.is_photos();
  for (const InputPhoto& photo : input.photos) setup.inputs.push_back({photo.name, photo.index});
}

}  // namespace skyfix::cli
