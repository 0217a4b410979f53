#include "skyfix/memory/plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;
// Program, libraries and their tables in host memory. An assumption.
constexpr std::uint64_t kHostBaseBytes = 512 * kMiB;

// What the allocator holds beyond what is handed out. With expandable segments only what comes and
// goes leaves gaps (weights and caches are taken once), and never less than 64 MiB are set aside;
// classic segments round up everything.
ComponentNeed rounding_need(const std::vector<ComponentNeed>& needs, const Budget& budget) {
  std::uint64_t bytes = 0;
  for (const ComponentNeed& need : needs) {
    bytes += budget.expandable_segments ? need.workspace_bytes : need.device_bytes();
  }
  ComponentNeed rounding{.owner = "allocator rounding"};
  rounding.workspace_bytes =
      std::max(kSmallestCapBytes,
               static_cast<std::uint64_t>(static_cast<double>(bytes) * budget.slack_share()));
  return rounding;
}

ComponentNeed on_host(const ComponentNeed& need) {
  ComponentNeed moved{.owner = need.owner};
  // Weights that would be streamed are in host memory anyway: the device's copy is not needed.
  moved.host_bytes = std::max(need.host_bytes, need.device_bytes());
  return moved;
}

}  // namespace

Plan make_plan(std::string job, DeviceKind device, const Budget& budget,
               std::vector<ComponentNeed> needs) {
  Plan plan;
  plan.job = std::move(job);
  plan.device = device;
  plan.budget = budget;
  if (device == DeviceKind::cuda) {
    ComponentNeed context{.owner = "context and libraries"};
    context.workspace_bytes = budget.context_bytes;
    plan.components.push_back(context);
    needs.push_back(rounding_need(needs, budget));
  } else {
    std::transform(needs.begin(), needs.end(), needs.begin(), on_host);
  }
  plan.components.insert(plan.components.end(), needs.begin(), needs.end());
  plan.components.push_back({.owner = "program", .host_bytes = kHostBaseBytes});
  for (const ComponentNeed& need : plan.components) {
    plan.peak_bytes += need.device_bytes();
    plan.host_peak_bytes += need.host_bytes;
  }
  plan.fits = (device == DeviceKind::cpu || plan.peak_bytes <= budget.gpu_bytes) &&
              (!budget.host_bytes || plan.host_peak_bytes <= *budget.host_bytes);
  return plan;
}

std::string options_text(const std::vector<PlanOption>& options) {
  std::string text;
  for (const PlanOption& option : options) {
    text += (text.empty() ? "" : " ") + option.name + " " + option.value;
  }
  return text;
}

std::string typed_size(std::uint64_t bytes) {
  return bytes % kMiB == 0 ? fmt::format("{}MiB", bytes / kMiB) : fmt::format("{}", bytes);
}

std::string typed_number(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : "auto";
}

std::string typed_type(const std::optional<DataType>& type) {
  return std::string(type ? data_type_name(*type) : "auto");
}

void check_option(std::string_view option, std::int64_t value, std::int64_t low,
                  std::int64_t high) {
  if (value >= low && value <= high) return;
  throw Error(Reason::bad_option,
              fmt::format("{} {}: it must be from {} to {}", option, value, low, high));
}

void check_option(std::string_view option, const std::optional<std::int64_t>& value,
                  std::int64_t low, std::int64_t high) {
  if (value) check_option(option, *value, low, high);
}

DeviceKind device_kind_from_name(std::string_view name, std::string_view option) {
  if (name == "cpu") return DeviceKind::cpu;
  if (name == "cuda") return DeviceKind::cuda;
  throw Error(Reason::bad_option, fmt::format("{}: '{}' is none of cpu, cuda", option, name));
}

}  // namespace skyfix
