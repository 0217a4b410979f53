// Makes allocations fail on purpose, to prove that no frame is lost when they do.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace skyfix {

// Which allocations fail; any of the three may be set. Counted from the first one after set-up.
struct FaultPlan {
  std::optional<std::uint64_t> nth = std::nullopt;          // this one alone, from 1
  std::optional<std::uint64_t> above_bytes = std::nullopt;  // every one larger than this
  double probability = 0;                                   // each one, drawn from `seed`
  std::uint64_t seed = 1;
  bool any() const { return nth || above_bytes || probability > 0; }
};
// "nth=3", "above=4MiB", "probability=0.01,seed=7", joined by commas; "" = none. Throws
// Error(bad_option) naming `option`.
FaultPlan parse_fault_plan(std::string_view text, std::string_view option);

class FaultInjector {
 public:
  explicit FaultInjector(const FaultPlan& plan = {});
  // True when the allocation asked for now shall fail. Thread-safe.
  bool fails(std::uint64_t bytes);
  std::uint64_t seen() const;      // allocations asked about
  std::uint64_t injected() const;  // of these, made to fail

 private:
  FaultPlan plan_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::uint64_t seen_ = 0;
  std::uint64_t injected_ = 0;
};

}  // namespace skyfix
