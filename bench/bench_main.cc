// skyfix-bench: `skyfix bench match` and `skyfix bench memory` as a program that starts where
// OpenCV, FFmpeg and FAISS are not installed, e.g. on a machine that only has the GPU.
#include <cstdio>
#include <exception>
#include <vector>

#include "bench/commands.h"
#include "skyfix/base/error.h"
#include "skyfix/base/version.h"

namespace {

constexpr int kExitCannotRun = 2;

int run(const std::vector<skyfix::bench::BenchCommand>& commands) {
  try {
    for (const auto& command : commands) {
      if (command.app->parsed()) return command.run();
    }
  } catch (const skyfix::Error& error) {
    std::fprintf(stderr, "skyfix-bench: %s (%s)\n", error.what(),
                 std::string(skyfix::reason_name(error.reason())).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skyfix-bench: %s\n", error.what());
  }
  return kExitCannotRun;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App root("Benchmarks of Skyfix that need no pictures", "skyfix-bench");
  root.set_version_flag("--version", std::string(skyfix::version_text()));
  root.require_subcommand(1);
  root.fallthrough();
  int threads = 0;
  root.add_option("--threads", threads, "Threads to work with; 0 = all cores")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  const std::vector<skyfix::bench::BenchCommand> commands = {
      skyfix::bench::add_match_command(root, threads),
      skyfix::bench::add_memory_command(root, threads)};
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return root.exit(error) == 0 ? 0 : kExitCannotRun;
  }
  return run(commands);
}
