#include "skyfix/stream/frame_preparer.h"

#include <chrono>
#include <new>
#include <utility>

namespace skyfix {
namespace {

using Clock = std::chrono::steady_clock;

void fail(PreparedFrame& frame, Reason reason, std::string text) {
  frame.source.failure = reason;
  frame.source.failure_text = std::move(text);
}

}  // namespace

FramePreparer::FramePreparer(FrameSource& source, const PrepareOptions& options)
    : source_(source), options_(options), thread_([this] { work(); }) {}

FramePreparer::~FramePreparer() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  source_.stop();
  thread_.join();
}

PreparedFrame FramePreparer::prepare(SourceFrame&& frame) const {
  const auto begin = Clock::now();
  PreparedFrame prepared;
  prepared.source = std::move(frame);
  if (prepared.source.failure) return prepared;
  try {
    const Image rgb = prepared.source.pixels.width > 0
                          ? std::exchange(prepared.source.pixels, {})
                          : upright_rgb(prepared.source, options_.max_megapixels);
    prepared.map = gct_frame_map(rgb.width, rgb.height, options_.image_size, options_.fit);
    prepared.picture = gct_picture(rgb, prepared.map);
  } catch (const Error& error) {
    fail(prepared, error.reason(), error.message());
  } catch (const std::bad_alloc&) {
    fail(prepared, Reason::out_of_memory, "there was not enough memory to decode the picture");
  }
  prepared.preparing_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return prepared;
}

void FramePreparer::work() {
  try {
    while (auto frame = source_.next()) {
      PreparedFrame prepared = prepare(std::move(*frame));
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || std::ssize(frames_) < options_.depth; });
      if (stopped_) return;
      frames_.push_back(std::move(prepared));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

std::optional<PreparedFrame> FramePreparer::next(const std::atomic<bool>& cancel) {
  constexpr auto kLook = std::chrono::milliseconds(50);  // at `cancel`, which wakes nobody
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [&] { return finished_ || !frames_.empty(); })) {
    if (cancel) return std::nullopt;
  }
  if (cancel) return std::nullopt;
  if (frames_.empty()) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return std::nullopt;
  }
  PreparedFrame frame = std::move(frames_.front());
  frames_.pop_front();
  changed_.notify_all();
  return frame;
}

}  // namespace skyfix
