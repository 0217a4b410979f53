#include "skyfix/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace skyfix {
namespace {

thread_local bool inside_pool = false;

// One parallel_for call: ranges are handed out in order, the lowest failing one is remembered.
struct Job {
  std::size_t count = 0;
  std::size_t grain = 1;
  const std::function<void(std::size_t, std::size_t)>* body = nullptr;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failure_begin = std::numeric_limits<std::size_t>::max();

  void work() {
    for (;;) {
      const std::size_t begin = next.fetch_add(grain);
      if (begin >= count) return;
      try {
        (*body)(begin, std::min(begin + grain, count));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (begin < failure_begin) {
          failure_begin = begin;
          failure = std::current_exception();
        }
      }
    }
  }
};

class Pool {
 public:
  static Pool& instance() {
    static Pool pool;
    return pool;
  }

  void set_threads(std::size_t threads) {
    const std::lock_guard lock(run_mutex_);
    stop_workers();
    threads_ = threads == 0 ? std::max(1u, std::thread::hardware_concurrency()) : threads;
  }

  std::size_t threads() const { return threads_; }

  void run(Job& job) {
    const std::lock_guard lock(run_mutex_);
    start_workers();
    {
      const std::lock_guard state(mutex_);
      job_ = &job;
      busy_ = workers_.size();
      ++generation_;
    }
    wake_.notify_all();
    inside_pool = true;
    job.work();
    inside_pool = false;
    std::unique_lock state(mutex_);
    idle_.wait(state, [&] { return busy_ == 0; });
    job_ = nullptr;
  }

 private:
  Pool() : threads_(std::max(1u, std::thread::hardware_concurrency())) {}
  ~Pool() { stop_workers(); }

  // A worker's life. `seen`: the last job that was given out before it was born.
  void serve(std::size_t seen) {
    inside_pool = true;
    for (;;) {
      std::unique_lock state(mutex_);
      wake_.wait(state, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
      Job* job = job_;
      state.unlock();
      job->work();
      state.lock();
      if (--busy_ == 0) idle_.notify_one();
    }
  }

  // Where the system gives no more threads, or no memory for them, those that are there do the
  // work.
  void start_workers() {
    try {
      while (workers_.size() + 1 < threads_) {
        workers_.emplace_back([this, seen = generation_] { serve(seen); });
      }
    } catch (const std::system_error&) {
      threads_ = workers_.size() + 1;
    } catch (const std::bad_alloc&) {
      threads_ = workers_.size() + 1;
    }
  }

  void stop_workers() {
    {
      const std::lock_guard state(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_ = false;
  }

  std::size_t threads_;
  std::mutex run_mutex_;  // one job at a time
  std::mutex mutex_;      // guards what follows
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::vector<std::thread> workers_;
  Job* job_ = nullptr;
  std::size_t busy_ = 0;
  std::size_t generation_ = 0;
  bool stopping_ = false;
};

}  // namespace

void set_thread_count(std::size_t threads) { Pool::instance().set_threads(threads); }
std::size_t thread_count() { return Pool::instance().threads(); }

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  Job job;
  job.count = count;
  job.grain = std::max<std::size_t>(1, grain);
  job.body = &body;
  if (inside_pool || count <= job.grain || thread_count() == 1) {
    job.work();
  } else {
    Pool::instance().run(job);
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace skyfix
