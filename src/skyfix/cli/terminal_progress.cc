#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "skyfix/cli/commands.h"

namespace skyfix::cli {
namespace {

// One line on standard error, redrawn at most ten times a second. It ends with a carriage return,
// so that a log line (which clears its line first) writes over it.
class TerminalProgress : public Progress {
 public:
  void start(const std::string& what, std::size_t total) override {
    what_ = what;
    total_ = total;
    done_ = 0;
    begin_ = std::chrono::steady_clock::now();
    draw();
  }

  void advance(std::size_t done) override {
    done_ += done;
    if (std::chrono::steady_clock::now() - drawn_ > std::chrono::milliseconds(100)) draw();
  }

  void finish() override {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
  }

 private:
  void draw() {
    constexpr int kWidth = 30;
    drawn_ = std::chrono::steady_clock::now();
    const double share = total_ == 0 ? 1 : double(done_) / double(total_);
    const int filled = static_cast<int>(share * kWidth);
    std::string left;
    if (done_ > 0 && done_ < total_) {
      const double elapsed_s = std::chrono::duration<double>(drawn_ - begin_).count();
      left = fmt::format(", {:.0f} s left", elapsed_s / done_ * (total_ - done_));
    }
    const std::string line =
        fmt::format("\r\x1b[K{} [{}{}] {}/{}{}\r", what_, std::string(filled, '#'),
                    std::string(kWidth - filled, '.'), done_, total_, left);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  }

  std::string what_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace

std::unique_ptr<Progress> Globals::progress() const {
  if (no_progress || ::isatty(STDERR_FILENO) == 0) return std::make_unique<NoProgress>();
  return std::make_unique<TerminalProgress>();
}

}  // namespace skyfix::cli
