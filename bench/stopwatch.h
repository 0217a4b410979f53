// Seconds by the clock and of the process's processor time.
#pragma once

#include <time.h>

#include <chrono>

namespace skyfix::bench {

struct Seconds {
  double wall = 0;
  double cpu = 0;  // of all threads
  Seconds& operator+=(const Seconds& other) {
    wall += other.wall;
    cpu += other.cpu;
    return *this;
  }
};

class Stopwatch {
 public:
  Seconds read() const {
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(),
            processor_seconds() - processor_start_};
  }

 private:
  static double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double processor_start_ = processor_seconds();
};

template <class Work>
Seconds seconds_of(const Work& work) {
  const Stopwatch watch;
  work();
  return watch.read();
}

}  // namespace skyfix::bench
