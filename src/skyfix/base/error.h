// Errors that a user can act on. Programming errors assert; bad input throws Error, which the
// batch runner catches per frame and the command line at the top. An expected outcome ("no pose
// found") is a value, not an exception.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyfix {

// Why a frame has no fix or a command could not run. See reasons.def for numbers and meanings.
enum class Reason : int {
#define SKYFIX_REASON(number, name, meaning) name = number,
#include "skyfix/base/reasons.def"
#undef SKYFIX_REASON
};

// The stable lower-case name used in records, e.g. "camera_mismatch".
std::string_view reason_name(Reason reason);
// One sentence: what it means and what to do.
std::string_view reason_meaning(Reason reason);

// An error with a code, the file it is about (may be empty) and a sentence for the user.
class Error : public std::runtime_error {
 public:
  // `message` says what is wrong and what to do; the file is put last in what().
  Error(Reason reason, std::string message, std::filesystem::path file = {});

  Reason reason() const { return reason_; }
  const std::filesystem::path& file() const { return file_; }
  const std::string& message() const { return message_; }

 private:
  Reason reason_;
  std::string message_;
  std::filesystem::path file_;
};

}  // namespace skyfix
