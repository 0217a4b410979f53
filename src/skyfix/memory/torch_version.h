// The LibTorch that this program was built against.
#pragma once

#include <string_view>

namespace skyfix {

std::string_view torch_version();

}  // namespace skyfix
