// Photos as frames: nothing is read of them here but their names.
#include <algorithm>
#include <atomic>
#include <utility>

#include "skyfix/frames/frame_selection.h"
#include "skyfix/frames/input_list.h"
#include "skyfix/frames/sources.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

class PhotoSource : public FrameSource {
 public:
  PhotoSource(std::vector<InputPhoto> photos, FrameSourceInfo info)
      : photos_(std::move(photos)), info_(std::move(info)) {
    info_.frames = std::ssize(photos_);
  }

  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    if (stopped_ || figures_.given == std::ssize(photos_)) return std::nullopt;
    const InputPhoto& photo = photos_[static_cast<std::size_t>(figures_.given++)];
    SourceFrame frame;
    frame.name = photo.name;
    frame.index = photo.index;
    frame.file = photo.path;
    return frame;
  }
  void stop() override { stopped_ = true; }
  FrameSourceFigures figures() const override { return figures_; }

 private:
  std::vector<InputPhoto> photos_;
  FrameSourceInfo info_;
  FrameSourceFigures figures_;
  std::atomic<bool> stopped_{false};
};

FrameSourceKind kind_of(const fs::path& input) {
  std::error_code failure;
  if (fs::is_directory(input, failure)) return FrameSourceKind::folder;
  return looks_like_list_name(input) ? FrameSourceKind::list : FrameSourceKind::photo;
}

// Of the first photo that can be read, as it is shown.
void find_size(const std::vector<InputPhoto>& photos, FrameSourceInfo& info) {
  for (const InputPhoto& photo : photos) {
    try {
      const ImageInfo size = probe_image(photo.path);
      const bool sideways = read_metadata(photo.path).orientation.value_or(1) > 4;
      info.width = sideways ? size.height : size.width;
      info.height = sideways ? size.width : size.height;
      return;
    } catch (const Error&) {
      // It will be a failure when its turn comes.
    }
  }
}

}  // namespace

std::unique_ptr<FrameSource> photo_frames(std::vector<InputPhoto> photos) {
  return std::make_unique<PhotoSource>(std::move(photos), FrameSourceInfo{});
}

std::unique_ptr<FrameSource> open_photo_frames(const FrameSourceOptions& options) {
  InputList list = list_input(options.input);
  FrameSourceInfo info;
  info.kind = kind_of(options.input);
  info.ignored_files = list.ignored_files;
  if (list.differs_from_text_order) {
    info.notes.push_back(
        "frames are in natural order (2 before 10), which differs from text order here");
  }
  select_range(list, options.first, options.last);
  const FrameSelection selection(options, std::nullopt);
  std::erase_if(list.photos,
                [&](const InputPhoto& photo) { return !selection.wants(photo.index); });
  info.configuration = photo_fingerprint(list.photos);
  find_size(list.photos, info);
  return std::make_unique<PhotoSource>(std::move(list.photos), std::move(info));
}

}  // namespace skyfix
