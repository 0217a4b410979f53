// Something live as frames: a thread reads, a bounded queue lies between.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "skyfix/base/parallel.h"
#include "skyfix/frames/frame_queue.h"
#include "skyfix/frames/frame_selection.h"
#include "skyfix/frames/sources.h"
#include "skyfix/frames/video_library.h"

namespace skyfix {
namespace {

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

class LiveSource : public FrameSource {
 public:
  LiveSource(const FrameSourceOptions& options, std::string name,
             std::unique_ptr<FrameReader> reader)
      : name_(std::move(name)),
        reader_(std::move(reader)),
        info_(info_of(reader_->info(), FrameSourceKind::live)),
        selection_(options, info_.frames_per_second),
        queue_(options.queue_frames, options.drop) {
    info_.configuration = "live\n" + shown_input(options.input) + "\n";
    thread_ = std::thread([this] { work(); });
  }
  ~LiveSource() override {
    stop();
    thread_.join();
  }

  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    auto frame = queue_.pop();
    if (frame) {
      ++given_;
      if (frame->failure) ++unreadable_;
    }
    return frame;
  }
  void stop() override {
    queue_.stop();
    reader_->stop();
  }
  FrameSourceFigures figures() const override { return {given_, unreadable_, queue_.dropped()}; }

 private:
  void work() {
    try {
      read_all();
      queue_.finish();
    } catch (const Error& error) {
      queue_.finish(std::make_exception_ptr(Error(error.reason(), name_ + ": " + error.message())));
    } catch (...) {
      queue_.finish(std::current_exception());
    }
  }

  void read_all() {
    std::int64_t index = 0;
    std::optional<std::int64_t> first_ns;
    while (!queue_.stopped() && !selection_.is_over(index + 1)) {
      const FrameReader::Step step = reader_->advance();
      if (step == FrameReader::Step::end) return;
      SourceFrame frame;
      frame.arrived_steady_ns = steady_ns();
      frame.index = ++index;
      frame.name = numbered_name(name_, index);
      if (step == FrameReader::Step::damaged) {
        frame.failure = Reason::corrupt_image;
        frame.failure_text = reader_->damage();
      } else {
        // The source's own clock, or, where it has none, ours.
        const std::int64_t now_ns = reader_->time_ns().value_or(*frame.arrived_steady_ns);
        if (!first_ns) first_ns = now_ns;
        frame.time_ns = now_ns - *first_ns;
      }
      if (!selection_.wants(index)) continue;
      if (!frame.failure) read_picture(*reader_, frame);
      if (!queue_.push(std::move(frame))) return;
    }
  }

  std::string name_;
  std::unique_ptr<FrameReader> reader_;
  FrameSourceInfo info_;
  FrameSelection selection_;
  FrameQueue queue_;
  std::int64_t given_ = 0;
  std::int64_t unreadable_ = 0;
  std::thread thread_;
};

std::unique_ptr<FrameReader> open_stream(const FrameSourceOptions& options) {
  VideoReaderOptions reader;
  reader.url = options.input;
  reader.live = true;
  reader.threads = static_cast<int>(thread_count());
  try {
    return VideoLibrary::instance().open(reader);
  } catch (const Error& error) {
    throw Error(error.reason(), shown_input(options.input) + ": " + error.message());
  }
}

}  // namespace

std::unique_ptr<FrameSource> live_frames(const FrameSourceOptions& options, std::string name,
                                         std::unique_ptr<FrameReader> reader) {
  return std::make_unique<LiveSource>(options, std::move(name), std::move(reader));
}

std::unique_ptr<FrameSource> open_live_frames(const FrameSourceOptions& options) {
  if (options.input == "-") {
    return live_frames(options, "stdin", open_pipe(STDIN_FILENO, options.pipe_format));
  }
  const bool device = options.input.starts_with("/dev/");
  const std::string name = device ? options.input.substr(5) : "stream";
  return live_frames(options, name, open_stream(options));
}

}  // namespace skyfix
