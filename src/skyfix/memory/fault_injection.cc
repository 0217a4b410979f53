#include "skyfix/memory/fault_injection.h"

#include <algorithm>
#include <set>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/text.h"

namespace skyfix {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view option, const std::string& why) {
  throw Error(Reason::bad_option,
              std::string(option) + ": '" + std::string(text) + "': " + why +
                  "; write for instance nth=3, above=4MiB or probability=0.01,seed=7");
}

std::uint64_t parse_count(std::string_view value, std::string_view text, std::string_view option,
                          long long lowest) {
  const auto count = parse_integer(value);
  if (!count || *count < lowest) {
    refuse(
        text, option,
        "'" + std::string(value) + "' is no whole number from " + std::to_string(lowest) + " on");
  }
  return static_cast<std::uint64_t>(*count);
}

double parse_probability(std::string_view value, std::string_view text, std::string_view option) {
  const auto probability = parse_double(value);
  if (!probability || *probability < 0 || *probability > 1) {
    refuse(text, option, "'" + std::string(value) + "' is no probability from 0 to 1");
  }
  return *probability;
}

}  // namespace

FaultPlan parse_fault_plan(std::string_view text, std::string_view option) {
  FaultPlan plan;
  if (trim(text).empty()) return plan;
  std::set<std::string_view> keys;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = trim(part.substr(0, equals));
    const std::string_view value = trim(part.substr(std::min(equals + 1, part.size())));
    if (!keys.insert(key).second) refuse(text, option, "'" + std::string(key) + "' stands twice");
    if (key == "nth") {
      plan.nth = parse_count(value, text, option, 1);
    } else if (key == "above") {
      plan.above_bytes = parse_byte_size(value, option);
    } else if (key == "probability") {
      plan.probability = parse_probability(value, text, option);
    } else if (key == "seed") {
      plan.seed = parse_count(value, text, option, 0);
    } else {
      refuse(text, option, "'" + std::string(key) + "' is not known");
    }
  }
  if (keys.contains("seed") && !keys.contains("probability")) {
    refuse(text, option, "a seed needs a probability");
  }
  return plan;
}

FaultInjector::FaultInjector(const FaultPlan& plan) : plan_(plan), random_(plan.seed) {}

bool FaultInjector::fails(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++seen_;
  bool fails = plan_.nth == seen_ || (plan_.above_bytes && bytes > *plan_.above_bytes);
  if (plan_.probability > 0) {
    // Drawn for each one, whatever the others say, and without std::uniform_real_distribution,
    // whose numbers differ between standard libraries: the same seed fails the same allocations.
    const double drawn = static_cast<double>(random_() >> 11) * 0x1p-53;
    fails = fails || drawn < plan_.probability;
  }
  if (fails) ++injected_;
  return fails;
}

std::uint64_t FaultInjector::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::uint64_t FaultInjector::injected() const {
  const std::lock_guard lock(mutex_);
  return injected_;
}

}  // namespace skyfix
