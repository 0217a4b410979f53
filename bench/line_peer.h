// Another program that answers a line for a line: a peer that runs beside us, turn by turn.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace skyfix::bench {

class LinePeer {
 public:
  // Starts the program (looked for in PATH); what it writes to standard error is shown.
  // Throws Error(bad_option) when it cannot be started.
  explicit LinePeer(const std::vector<std::string>& command);
  // Closes its standard input and waits until it ends.
  ~LinePeer();
  LinePeer(const LinePeer&) = delete;
  LinePeer& operator=(const LinePeer&) = delete;

  // The next line that it writes, without the end of line. Throws Error(bad_option) when it has
  // ended.
  std::string read_line();
  std::string ask(const std::string& line);

 private:
  std::string name_;
  pid_t process_ = -1;
  std::FILE* orders_ = nullptr;   // its standard input
  std::FILE* answers_ = nullptr;  // its standard output
};

}  // namespace skyfix::bench
