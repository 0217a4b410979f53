#include "skyfix/cli/interrupt.h"

#include <csignal>

namespace skyfix::cli {
namespace {

std::atomic<bool> flag{false};

extern "C" void on_interrupt(int) {
  flag = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  flag = false;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::signal(SIGHUP, on_interrupt);
}

const std::atomic<bool>& interrupted() { return flag; }

}  // namespace skyfix::cli
