// Frames through three stages at once: the first and the last on threads of their own, the middle
// one (the device's) on the caller's. Each stage sees every frame, in order, so results are those
// of one stage after the other.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace skyfix::bench {

// From one thread to another, at most `bound` waiting.
template <class T>
class Channel {
 public:
  explicit Channel(std::size_t bound) : bound_(bound) {}

  // Waits for room; false when nobody takes any more.
  bool push(T value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || waiting_.size() < bound_; });
    if (closed_) return false;
    waiting_.push_back(std::move(value));
    changed_.notify_all();
    return true;
  }
  // nullopt once it is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    std::optional<T> value(std::move(waiting_.front()));
    waiting_.pop_front();
    changed_.notify_all();
    return value;
  }
  // What waits can still be taken.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  const std::size_t bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> waiting_;
  bool closed_ = false;
};

// first(i) -> A, second(i, A) -> B, third(i, B) for i in 0..count-1. What a stage throws stops all
// and is thrown here: the earliest stage's where several do.
template <class First, class Second, class Third>
void overlap_stages(std::int64_t count, const First& first, const Second& second,
                    const Third& third, std::size_t ahead = 2) {
  using A = std::invoke_result_t<First, std::int64_t>;
  using B = std::invoke_result_t<Second, std::int64_t, A>;
  Channel<A> firsts(ahead);
  Channel<B> seconds(ahead);
  std::exception_ptr failures[3];
  std::thread before([&] {
    try {
      for (std::int64_t i = 0; i < count; ++i) {
        if (!firsts.push(first(i))) break;
      }
    } catch (...) {
      failures[0] = std::current_exception();
    }
    firsts.close();
  });
  std::thread after([&] {
    try {
      for (std::int64_t i = 0; auto value = seconds.pop(); ++i) third(i, std::move(*value));
    } catch (...) {
      failures[2] = std::current_exception();
      seconds.close();
    }
  });
  try {
    for (std::int64_t i = 0; auto value = firsts.pop(); ++i) {
      if (!seconds.push(second(i, std::move(*value)))) break;
    }
  } catch (...) {
    failures[1] = std::current_exception();
  }
  firsts.close();
  seconds.close();
  before.join();
  after.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace skyfix::bench
