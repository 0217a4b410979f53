#include "skyfix/cli/interrupt.h"

#include <csignal>

namespace skyfix::cli {
namespace {

std::atomic<bool> flag{false};

extern "C" void set_interrupted(int) {
  flag = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  flag = false;
  std::signal(SIGINT, set_interrupted);
  std::signal(SIGTERM, set_interrupted);
}

const std::atomic<bool>& interrupted() { return flag; }

}  // namespace skyfix::cli
