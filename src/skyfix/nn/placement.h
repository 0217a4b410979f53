// Where a network runs and in what precision.
#pragma once

#include <string_view>

#include "skyfix/memory/device.h"

namespace skyfix {

enum class Precision { fp32, bf16, fp16 };
std::string_view precision_name(Precision precision);
// Throws Error(bad_option) naming `option` for any other name; `also` is what else it takes.
Precision precision_from_name(std::string_view name, std::string_view option,
                              std::string_view also = {});

// The CPU computes in fp32 unless asked otherwise; a GPU without TF32 under fp32.
struct NetworkPlacement {
  DeviceKind device = DeviceKind::cpu;
  Precision precision = Precision::fp32;  // of weights as held, and of the arithmetic
  bool operator==(const NetworkPlacement&) const = default;
};

}  // namespace skyfix
