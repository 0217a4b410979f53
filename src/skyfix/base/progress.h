// Progress of long work, told through an object handed down; the command line draws the bar.
#pragma once

#include <cstddef>
#include <string>

namespace skyfix {

// Told by the worker: start(), then advance() for each finished unit, then finish().
// Implementations are called from one thread at a time.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void start(const std::string& what, std::size_t total) = 0;
  virtual void advance(std::size_t done = 1) = 0;
  virtual void finish() = 0;
};

// Says nothing: the default where no progress is wanted.
class NoProgress : public Progress {
 public:
  void start(const std::string&, std::size_t) override {}
  void advance(std::size_t) override {}
  void finish() override {}
};

}  // namespace skyfix
