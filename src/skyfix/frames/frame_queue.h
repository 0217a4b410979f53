// Frames from one thread to another: bounded, with a stated policy for when it is full.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "skyfix/frames/frame_source.h"

namespace skyfix {

class FrameQueue {
 public:
  FrameQueue(int bound, DropPolicy policy) : bound_(bound), policy_(policy) {}

  // Waits for room (block) or throws the oldest frame away; false once the queue is stopped.
  bool push(SourceFrame frame);
  // No more frames come; `failure` is what pop() throws after the last one.
  void finish(std::exception_ptr failure = nullptr);
  // Whoever waits is let go; what waits in the queue is forgotten.
  void stop();

  // The next frame, waited for; nullopt at the end and after stop(). Throws what finish() was
  // given.
  std::optional<SourceFrame> pop();
  bool stopped() const;
  std::int64_t dropped() const;

 private:
  const int bound_;
  const DropPolicy policy_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SourceFrame> frames_;
  bool finished_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::int64_t dropped_ = 0;
};

}  // namespace skyfix
