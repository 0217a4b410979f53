#include "bench/line_peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "skyfix/base/error.h"

extern char** environ;

namespace skyfix::bench {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& why) {
  throw Error(Reason::bad_option, "the peer " + name + " " + why);
}

}  // namespace

LinePeer::LinePeer(const std::vector<std::string>& command) : name_(command.at(0)) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer that has ended is told by read_line()
  int to_peer[2], from_peer[2];
  if (::pipe2(to_peer, O_CLOEXEC) != 0 || ::pipe2(from_peer, O_CLOEXEC) != 0) {
    fail(name_, std::string("got no pipe: ") + std::strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_peer[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_peer[1], 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int failure = ::posix_spawnp(&process_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(to_peer[0]);
  ::close(from_peer[1]);
  orders_ = ::fdopen(to_peer[1], "w");
  answers_ = ::fdopen(from_peer[0], "r");
  if (failure == 0) return;
  std::fclose(orders_);
  std::fclose(answers_);
  fail(name_, std::string("cannot be started: ") + std::strerror(failure));
}

LinePeer::~LinePeer() {
  std::fclose(orders_);
  std::fclose(answers_);
  ::waitpid(process_, nullptr, 0);
}

std::string LinePeer::read_line() {
  std::string line;
  for (int letter = std::fgetc(answers_); letter != '\n'; letter = std::fgetc(answers_)) {
    if (letter == EOF) fail(name_, "ended without an answer; it may have said why above");
    line.push_back(char(letter));
  }
  return line;
}

std::string LinePeer::ask(const std::string& line) {
  std::fputs((line + "\n").c_str(), orders_);
  std::fflush(orders_);
  return read_line();
}

}  // namespace skyfix::bench
