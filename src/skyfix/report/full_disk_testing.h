// A disk that is full for files beyond a size. For tests only.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstddef>

namespace skyfix::report_testing {

// While it lives, no file of this process grows beyond `bytes`: writing fails as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(std::size_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

}  // namespace skyfix::report_testing
