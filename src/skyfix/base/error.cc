#include "skyfix/base/error.h"

namespace skyfix {

std::string_view reason_name(Reason reason) {
  switch (reason) {
#define SKYFIX_REASON(number, name, meaning) \
  case Reason::name:                         \
    return #name;
#include "skyfix/base/reasons.def"
#undef SKYFIX_REASON
  }
  return "internal";
}

std::string_view reason_meaning(Reason reason) {
  switch (reason) {
#define SKYFIX_REASON(number, name, meaning) \
  case Reason::name:                         \
    return meaning;
#include "skyfix/base/reasons.def"
#undef SKYFIX_REASON
  }
  return "";
}

namespace {
std::string compose(const std::string& message, const std::filesystem::path& file) {
  return file.empty() ? message : message + " [" + file.string() + "]";
}
}  // namespace

Error::Error(Reason reason, std::string message, std::filesystem::path file)
    : std::runtime_error(compose(message, file)),
      reason_(reason),
      message_(std::move(message)),
      file_(std::move(file)) {}

}  // namespace skyfix
