#include "skyfix/base/version.h"

namespace skyfix {

std::string_view version() { return SKYFIX_VERSION; }
std::string_view git_revision() { return SKYFIX_GIT_REVISION; }
std::string_view version_text() { return "skyfix " SKYFIX_VERSION " (" SKYFIX_GIT_REVISION ")"; }

}  // namespace skyfix
