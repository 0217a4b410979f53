// skyfix-bench: `skyfix bench match`, `memory` and `models` as a program that starts where
// OpenCV, FFmpeg and FAISS are not installed, e.g. on a machine that only has the GPU.
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "bench/commands.h"
#include "skyfix/base/error.h"
#include "skyfix/base/version.h"
#include "skyfix/cli/parse_errors.h"

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
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "skyfix-bench: not enough memory (out_of_memory)\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skyfix-bench: %s (internal)\n", error.what());
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
      skyfix::bench::add_memory_command(root, threads),
      skyfix::bench::add_memory_stream_command(root, threads),
      skyfix::bench::add_stream_command(root, threads),
      skyfix::bench::add_models_command(root, threads),
      skyfix::bench::add_twin_command(root)};
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // help and version
    std::fprintf(stderr, "%s\n", skyfix::cli::parse_error_text(root, error).c_str());
    return kExitCannotRun;
  }
  return run(commands);
}
