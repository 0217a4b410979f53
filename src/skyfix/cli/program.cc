#include <csignal>
#include <cstdio>
#include <new>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"
#include "skyfix/base/parallel.h"
#include "skyfix/base/version.h"
#include "skyfix/cli/commands.h"
#include "skyfix/cli/parse_errors.h"

namespace skyfix::cli {
namespace {

constexpr const char* kDescription =
    "Skyfix tells a camera where it is from its pictures.\n"
    "\n"
    "  skyfix map build --colmap SPARSE --images DIR --out MAP   make a map from a COLMAP model\n"
    "  skyfix localize --map MAP --input PHOTOS --out RUN        one fix per photo\n"
    "  skyfix reconstruct --input VIDEO --out RUN                poses, depth, cloud, without a "
    "map\n"
    "  skyfix evaluate --run RUN --reference reference.json      compare with known poses\n";

void add_globals(CLI::App& root, Globals& globals) {
  root.add_option("--log-level", globals.log_level, "trace, debug, info, warning, error or off")
      ->capture_default_str();
  root.add_option("--log-format", globals.log_format, "text, or json: one object a line")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  root.add_option("--threads", globals.threads, "Threads to work with; 0 = all cores")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  root.add_flag("--no-progress", globals.no_progress, "No progress bar, even on a terminal");
}

int report_parse_error(const CLI::App& root, const CLI::ParseError& error) {
  std::fprintf(stderr, "%s\n", parse_error_text(root, error).c_str());
  return kExitCannotRun;
}

int run_command(const Globals& globals, const Commands& commands) {
  try {
    log::configure(globals.log_level,
                   globals.log_format == "json" ? log::Format::json : log::Format::text);
    set_thread_count(static_cast<std::size_t>(globals.threads));
    for (const Command& command : commands) {
      if (!command.app->parsed()) continue;
      const int status = command.run();
      if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        throw Error(Reason::unwritable_output, "standard output cannot be written (disk full?)");
      }
      return status;
    }
    return kExitCannotRun;
  } catch (const Error& error) {
    std::fprintf(stderr, "skyfix: %s (%s)\n", error.what(),
                 std::string(reason_name(error.reason())).c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "skyfix: not enough memory (out_of_memory)\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skyfix: %s: a fault of the program, please report it (internal)\n",
                 error.what());
  }
  return kExitCannotRun;
}

}  // namespace

int run_program(int argc, char** argv) {
  // A file that may not grow any more is an error of the write, told like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App root(kDescription, "skyfix");
  root.set_version_flag("--version", std::string(version_text()));
  root.require_subcommand(1);
  root.fallthrough();
  root.set_help_all_flag("--help-all", "Help of all subcommands");
  Globals globals;
  add_globals(root, globals);
  Commands commands;
  add_localize(root, globals, commands);
  add_reconstruct(root, globals, commands);
  add_map(root, globals, commands);
  add_evaluate(root, globals, commands);
  add_export(root, globals, commands);
  add_records(root, globals, commands);
  add_simulate(root, globals, commands);
  add_plan(root, globals, commands);
  add_models(root, globals, commands);
  add_bench(root, globals, commands);
  add_doctor(root, globals, commands);
  add_licenses(root, globals, commands);
  for (const Command& command : commands) {
    command.app->footer(
        "Also, for every command: --log-level, --log-format, --threads, --no-progress "
        "(skyfix --help)");
  }
  if (argc == 1) {
    std::fputs(root.help().c_str(), stdout);
    return kExitCannotRun;
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp& call) {
    return root.exit(call);
  } catch (const CLI::CallForAllHelp& call) {
    return root.exit(call);
  } catch (const CLI::CallForVersion& call) {
    return root.exit(call);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(root, error);
  }
  return run_command(globals, commands);
}

}  // namespace skyfix::cli
