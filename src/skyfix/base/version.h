// What this program is: version and source revision, for manifests and --version.
#pragma once

#include <string_view>

namespace skyfix {

std::string_view version();       // "0.1.0"
std::string_view git_revision();  // as git describes it, or "unknown"
std::string_view version_text();  // "skyfix 0.1.0 (revision)"

}  // namespace skyfix
