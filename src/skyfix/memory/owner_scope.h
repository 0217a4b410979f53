// Whose memory a thread is taking: what LibTorch allocates on the device while a scope lives is
// booked under its owner (ledger.h), so that a peak names the network and not "the allocator".
#pragma once

#include <string_view>
#include <utility>

namespace skyfix {

// Of the present thread; the innermost counts. `owner` must outlive the scope: a literal.
class OwnerScope {
 public:
  explicit OwnerScope(std::string_view owner) : before_(std::exchange(slot(), owner)) {}
  ~OwnerScope() { slot() = before_; }
  OwnerScope(const OwnerScope&) = delete;
  OwnerScope& operator=(const OwnerScope&) = delete;

  // Empty outside every scope.
  static std::string_view current() { return slot(); }

 private:
  static std::string_view& slot() {
    thread_local std::string_view owner;
    return owner;
  }
  std::string_view before_;
};

}  // namespace skyfix
