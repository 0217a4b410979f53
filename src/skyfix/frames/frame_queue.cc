#include "skyfix/frames/frame_queue.h"

#include <utility>

namespace skyfix {

bool FrameQueue::push(SourceFrame frame) {
  std::unique_lock lock(mutex_);
  const auto full = [this] { return std::ssize(frames_) >= bound_; };
  if (policy_ == DropPolicy::block) changed_.wait(lock, [&] { return stopped_ || !full(); });
  if (stopped_) return false;
  if (full()) {
    frames_.pop_front();
    ++dropped_;
  }
  frames_.push_back(std::move(frame));
  changed_.notify_all();
  return true;
}

void FrameQueue::finish(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  failure_ = std::move(failure);
  changed_.notify_all();
}

void FrameQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  frames_.clear();
  changed_.notify_all();
}

std::optional<SourceFrame> FrameQueue::pop() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || finished_ || !frames_.empty(); });
  if (stopped_) return std::nullopt;
  if (frames_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  SourceFrame frame = std::move(frames_.front());
  frames_.pop_front();
  changed_.notify_all();
  return frame;
}

bool FrameQueue::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

std::int64_t FrameQueue::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace skyfix
