// Any text: a call or std::invalid_argument, nothing else.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>

#include "skyfix/models/mast3r/literal_text.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const auto call =
        skyfix::parse_literal_call(std::string_view(reinterpret_cast<const char*>(data), size));
    for (const auto& [key, value] : call.arguments) {
      if (key.empty() && !call.name.empty()) std::abort();
      if (value.number() != nullptr && std::isnan(*value.number())) std::abort();
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
