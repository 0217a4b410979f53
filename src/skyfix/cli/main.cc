#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "skyfix/cli/commands.h"

namespace {

// Threads of LibTorch's OpenMP wait for each other by spinning: on a busy machine two of them then
// take several times as long as one. The library reads its settings when it is loaded, before any
// code of ours: the program is started again with them, once.
void wait_without_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  execv("/proc/self/exe", argv);  // returns only where it cannot be done: then on as it is
}

}  // namespace

// What escapes run_program happened before it could report by itself: memory for the options.
int main(int argc, char** argv) {
  wait_without_spinning(argv);
  try {
    return skyfix::cli::run_program(argc, argv);
  } catch (const std::exception&) {
    std::fputs("skyfix: not enough memory (out_of_memory)\n", stderr);
    return skyfix::cli::kExitCannotRun;
  }
}
