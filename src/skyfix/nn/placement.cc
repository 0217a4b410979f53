#include "skyfix/nn/placement.h"

#include <string>

#include "skyfix/base/error.h"

namespace skyfix {

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
  }
  return "fp32";
}

Precision precision_from_name(std::string_view name, std::string_view option,
                              std::string_view also) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    if (name == precision_name(precision)) return precision;
  }
  throw Error(Reason::bad_option, std::string(option) + " " + std::string(name) +
                                      " is not one of " + std::string(also) +
                                      (also.empty() ? "" : ", ") + "fp32, bf16, fp16");
}

}  // namespace skyfix
