#include "skyfix/memory/torch_version.h"

#include <torch/headeronly/version.h>

namespace skyfix {

std::string_view torch_version() { return TORCH_VERSION; }

}  // namespace skyfix
