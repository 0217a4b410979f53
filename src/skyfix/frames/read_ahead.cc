// A thread of its own reads and decodes, so that whoever works on frames does not wait for disks.
#include <atomic>
#include <new>
#include <thread>
#include <utility>

#include "skyfix/frames/frame_queue.h"
#include "skyfix/frames/frame_source.h"

namespace skyfix {
namespace {

void decode(SourceFrame& frame) {
  if (frame.failure || frame.file.empty()) return;
  try {
    frame.pixels = upright_rgb(frame);
  } catch (const Error& error) {
    frame.failure = error.reason();
    frame.failure_text = error.message();
  } catch (const std::bad_alloc&) {
    frame.failure = Reason::out_of_memory;
    frame.failure_text = "there was not enough memory to decode the picture";
  }
}

class ReadAhead : public FrameSource {
 public:
  ReadAhead(std::unique_ptr<FrameSource> source, int depth)
      : source_(std::move(source)), queue_(depth, DropPolicy::block) {
    thread_ = std::thread([this] { work(); });
  }
  ~ReadAhead() override {
    stop();
    thread_.join();
  }

  const FrameSourceInfo& info() const override { return source_->info(); }
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
    source_->stop();
  }
  FrameSourceFigures figures() const override { return {given_, unreadable_, dropped_}; }

 private:
  void work() {
    try {
      while (auto frame = source_->next()) {
        decode(*frame);
        dropped_ = source_->figures().dropped;
        if (!queue_.push(std::move(*frame))) return;
      }
      dropped_ = source_->figures().dropped;
      queue_.finish();
    } catch (...) {
      queue_.finish(std::current_exception());
    }
  }

  std::unique_ptr<FrameSource> source_;
  FrameQueue queue_;
  std::int64_t given_ = 0;
  std::int64_t unreadable_ = 0;
  std::atomic<std::int64_t> dropped_{0};  // written by the thread, as far as it has read
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FrameSource> read_ahead(std::unique_ptr<FrameSource> source, int depth) {
  if (depth < 1) throw Error(Reason::bad_option, "frames are read ahead by one at least");
  return std::make_unique<ReadAhead>(std::move(source), depth);
}

}  // namespace skyfix
