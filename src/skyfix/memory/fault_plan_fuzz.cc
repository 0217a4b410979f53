// Sizes and fault plans as typed: anything is either understood or refused as a bad option.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/memory/fault_injection.h"

namespace {

template <class Parse>
void parse(Parse parse) {
  try {
    parse();
  } catch (const skyfix::Error& error) {
    if (error.reason() != skyfix::Reason::bad_option) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse([&] { skyfix::parse_byte_size(text, "--gpu-memory"); });
  parse([&] {
    const skyfix::FaultPlan plan = skyfix::parse_fault_plan(text, "--inject");
    if (!(plan.probability >= 0 && plan.probability <= 1)) __builtin_trap();
  });
  return 0;
}
