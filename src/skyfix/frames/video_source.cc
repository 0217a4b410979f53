// A video file as frames.
#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <utility>

#include "skyfix/base/parallel.h"
#include "skyfix/frames/frame_selection.h"
#include "skyfix/frames/input_list.h"
#include "skyfix/frames/sources.h"
#include "skyfix/frames/srt.h"
#include "skyfix/frames/video_library.h"

namespace skyfix {
namespace fs = std::filesystem;

void read_picture(FrameReader& reader, SourceFrame& frame) {
  try {
    const Image stored = reader.picture();
    frame.pixels = upright(stored, reader.info().orientation);
  } catch (const Error& error) {
    frame.failure = error.reason();
    frame.failure_text = error.message();
  }
}

FrameSourceInfo info_of(const ReaderInfo& reader, FrameSourceKind kind) {
  FrameSourceInfo info;
  info.kind = kind;
  const bool sideways = reader.orientation > 4;
  info.width = sideways ? reader.height : reader.width;
  info.height = sideways ? reader.width : reader.height;
  info.frames_per_second = reader.frames_per_second;
  info.notes = reader.notes;
  return info;
}

namespace {

class VideoSource : public FrameSource {
 public:
  VideoSource(const FrameSourceOptions& options, std::unique_ptr<FrameReader> reader,
              std::optional<SrtTrack> srt, FrameSourceInfo info)
      : file_(options.input),
        reader_(std::move(reader)),
        srt_(std::move(srt)),
        info_(std::move(info)),
        selection_(options, reader_->info().frames_per_second) {
    if (reader_->info().frames) info_.frames = selection_.count(*reader_->info().frames);
    info_.configuration +=
        fmt::format("first {} last {} step {}\n", options.first, options.last, selection_.step());
  }

  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    while (!stopped_ && !selection_.is_over(index_ + 1)) {
      const FrameReader::Step step = reader_->advance();
      if (step == FrameReader::Step::end) break;
      ++index_;
      auto time_ns = step == FrameReader::Step::frame ? reader_->time_ns() : std::nullopt;
      if (time_ns && !first_ns_) first_ns_ = time_ns;
      if (time_ns) *time_ns -= *first_ns_;
      if (selection_.wants(index_)) return frame_of(step, time_ns);
    }
    if (figures_.given == 0 && !stopped_) refuse_emptiness();
    return std::nullopt;
  }
  void stop() override {
    stopped_ = true;
    reader_->stop();
  }
  FrameSourceFigures figures() const override { return figures_; }

 private:
  SourceFrame frame_of(FrameReader::Step step, std::optional<std::int64_t> time_ns) {
    SourceFrame frame;
    frame.name = numbered_name(file_.filename().string(), index_);
    frame.index = index_;
    frame.time_ns = time_ns;
    if (srt_ && time_ns) {
      if (const PhotoMetadata* said = srt_->at(*time_ns)) frame.metadata = *said;
    }
    if (step == FrameReader::Step::damaged) {
      frame.failure = Reason::corrupt_image;
      frame.failure_text = reader_->damage();
    } else {
      read_picture(*reader_, frame);
    }
    ++figures_.given;
    if (frame.failure) ++figures_.unreadable;
    return frame;
  }

  [[noreturn]] void refuse_emptiness() const {
    if (index_ == 0) throw Error(Reason::no_input, "the video holds no frame", file_);
    throw Error(
        Reason::bad_option,
        fmt::format("the range selects none of the video's {} frames; frames count from 1", index_),
        file_);
  }

  fs::path file_;
  std::unique_ptr<FrameReader> reader_;
  std::optional<SrtTrack> srt_;
  FrameSourceInfo info_;
  FrameSelection selection_;
  FrameSourceFigures figures_;
  std::int64_t index_ = 0;
  std::optional<std::int64_t> first_ns_;
  std::atomic<bool> stopped_{false};
};

// The file given, or the one beside the video; empty where there is none.
fs::path srt_of(const FrameSourceOptions& options) {
  if (!options.srt.empty()) return options.srt;
  for (const char* extension : {".SRT", ".srt"}) {
    const fs::path beside = fs::path(options.input).replace_extension(extension);
    std::error_code failure;
    if (fs::is_regular_file(beside, failure)) return beside;
  }
  return {};
}

// One that was not asked for and cannot be used is worth a note only.
std::optional<SrtTrack> read_srt(const FrameSourceOptions& options, const fs::path& file,
                                 std::vector<std::string>& notes) {
  if (file.empty()) return std::nullopt;
  try {
    SrtTrack track = SrtTrack::read(file);
    notes.insert(notes.end(), track.notes().begin(), track.notes().end());
    return track;
  } catch (const Error& error) {
    if (!options.srt.empty()) throw;
    notes.push_back(std::string(error.what()) + "; it is not used");
    return std::nullopt;
  }
}

}  // namespace

std::string numbered_name(const std::string& source, std::int64_t index) {
  return fmt::format("{}#{:06}", source, index);
}

std::unique_ptr<FrameSource> video_frames(const FrameSourceOptions& options,
                                          std::unique_ptr<FrameReader> reader) {
  FrameSourceInfo info = info_of(reader->info(), FrameSourceKind::video);
  const fs::path side = srt_of(options);
  std::optional<SrtTrack> srt = read_srt(options, side, info.notes);
  std::vector<InputPhoto> files = {{fs::path(options.input).filename().string(), options.input, 1}};
  if (srt) files.push_back({side.filename().string(), side, 2});
  info.configuration = "video\n" + photo_fingerprint(files);
  return std::make_unique<VideoSource>(options, std::move(reader), std::move(srt), std::move(info));
}

std::unique_ptr<FrameSource> open_video_frames(const FrameSourceOptions& options) {
  std::error_code failure;
  if (!fs::exists(options.input, failure)) {
    throw Error(Reason::unreadable_file, "there is no such file or folder", options.input);
  }
  VideoReaderOptions reader;
  reader.url = options.input;
  reader.threads = static_cast<int>(thread_count());
  return video_frames(options, VideoLibrary::instance().open(reader));
}

}  // namespace skyfix
