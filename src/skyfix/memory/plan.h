// Before anything is loaded: what a run will need, who needs it, whether it fits the budget, which
// settings were chosen to make it fit, and, where nothing does, what would.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/memory/budget.h"
#include "skyfix/memory/device.h"
#include "skyfix/memory/footprint.h"

namespace skyfix {

// An option as it is typed: "--window", "16".
struct PlanOption {
  std::string name;
  std::string value;
  bool operator==(const PlanOption&) const = default;
};

// Settings that fit where those asked for do not. Planned, not guessed.
struct PlanAlternative {
  std::string what;                  // "a smaller window"
  std::vector<PlanOption> options;   // what to add to the command
  std::vector<PlanOption> settings;  // all, as they would be then
  std::uint64_t peak_bytes = 0;
  std::uint64_t host_peak_bytes = 0;
  bool fits = false;
};

struct Plan {
  std::string job;  // "localize", "reconstruct"
  DeviceKind device = DeviceKind::cuda;
  Budget budget;
  std::vector<ComponentNeed> components;  // context and libraries first
  std::uint64_t peak_bytes = 0;           // of the device, the whole process; 0 on the CPU
  std::uint64_t host_peak_bytes = 0;
  bool fits = false;
  std::int64_t input_width = 0;  // what the network sees, px; 0 where there is none
  std::int64_t input_height = 0;
  std::optional<std::int64_t> tokens_per_frame;
  std::vector<PlanOption> settings;  // asked for or chosen
  std::vector<std::string> notes;
  std::vector<PlanAlternative> alternatives;  // when it does not fit: the least costly first
};

// Puts needs and budget together: context and allocator rounding are added, needs move to the host
// when the device is the CPU, sums are made, and `fits` is set.
Plan make_plan(std::string job, DeviceKind device, const Budget& budget,
               std::vector<ComponentNeed> needs);

// "--window 16 --kv-dtype int8"
std::string options_text(const std::vector<PlanOption>& options);
// A size as it is typed, exactly: whole MiB where it is a multiple, else bytes.
std::string typed_size(std::uint64_t bytes);
// A whole number or a type, or "auto".
std::string typed_number(const std::optional<std::int64_t>& value);
std::string typed_type(const std::optional<DataType>& type);

// Throws Error(bad_option) naming the option and the range when the value is outside.
void check_option(std::string_view option, std::int64_t value, std::int64_t low, std::int64_t high);
void check_option(std::string_view option, const std::optional<std::int64_t>& value,
                  std::int64_t low, std::int64_t high);

DeviceKind device_kind_from_name(std::string_view name, std::string_view option);

}  // namespace skyfix
