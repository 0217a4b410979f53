#include "process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "skyfix/base/file.h"

extern char** environ;

namespace skyfix::testing {
namespace fs = std::filesystem;

namespace {

fs::path capture_file(const char* kind) {
  static int counter = 0;
  return fs::path(::testing::TempDir()) / ("skyfix_capture_" + std::to_string(::getpid()) + "_" +
                                           std::to_string(counter++) + "." + kind);
}

// Waits for the child; when `milliseconds` >= 0, sends `signal` after that time.
int wait_for(pid_t child, int milliseconds, int signal) {
  int status = 0;
  if (milliseconds >= 0) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() >= end) {
        ::kill(child, signal);
        ::waitpid(child, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } else {
    ::waitpid(child, &status, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Outcome run(const std::vector<std::string>& arguments, int milliseconds, int signal) {
  const fs::path out = capture_file("out");
  const fs::path err = capture_file("err");
  std::vector<std::string> words = {SKYFIX_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, SKYFIX_BINARY, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  Outcome outcome;
  if (failure != 0) {
    outcome.err = "the program could not be started: " SKYFIX_BINARY;
    return outcome;
  }
  outcome.status = wait_for(child, milliseconds, signal);
  outcome.out = read_file(out);
  outcome.err = read_file(err);
  fs::remove(out);
  fs::remove(err);
  return outcome;
}

}  // namespace

Outcome skyfix(const std::vector<std::string>& arguments) { return run(arguments, -1, 0); }

Outcome skyfix_killed_after(const std::vector<std::string>& arguments, int milliseconds,
                            int signal) {
  return run(arguments, milliseconds, signal);
}

Scratch::Scratch() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(info->test_suite_name()) + "." + info->name();
  for (char& c : name) {
    if (c == '/') c = '-';
  }
  folder_ = fs::path(::testing::TempDir()) / ("skyfix_" + std::to_string(::getpid()) + "_" + name);
  fs::remove_all(folder_);
  fs::create_directories(folder_);
}

Scratch::~Scratch() {
  if (!::testing::Test::HasFailure()) fs::remove_all(folder_);
}

fs::path shared_folder() { return SKYFIX_SHARED_DIR; }

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

}  // namespace skyfix::testing
