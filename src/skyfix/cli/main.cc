#include "skyfix/cli/commands.h"

#include <cstdio>
#include <exception>

// What escapes run_program happened before it could report by itself: memory for the options.
int main(int argc, char** argv) {
  try {
    return skyfix::cli::run_program(argc, argv);
  } catch (const std::exception&) {
    std::fputs("skyfix: not enough memory (out_of_memory)\n", stderr);
    return skyfix::cli::kExitCannotRun;
  }
}
