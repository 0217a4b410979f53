#include <spdlog/fmt/fmt.h>

#include "skyfix/base/byte_size.h"
#include "skyfix/report/plan_report.h"
#include "skyfix/report/table.h"

namespace skyfix {
namespace {

std::string size_cell(std::uint64_t bytes) { return bytes == 0 ? "-" : format_byte_size(bytes); }

std::string growth_cell(const ComponentNeed& need) {
  if (need.growth_count == 0) return "-";
  return fmt::format("{} x {} {}{}", format_byte_size(need.growth_bytes), need.growth_count,
                     need.growth_unit, need.growth_count == 1 ? "" : "s");
}

std::string component_table(const Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const ComponentNeed& need : plan.components) {
    rows.push_back({need.owner, size_cell(need.weights_bytes), size_cell(need.workspace_bytes),
                    growth_cell(need), size_cell(need.device_bytes()), size_cell(need.host_bytes)});
  }
  rows.push_back({"all", "", "", "", size_cell(plan.peak_bytes), size_cell(plan.host_peak_bytes)});
  return aligned_table({{"component"},
                        {"weights", true},
                        {"workspace", true},
                        {"growth", true},
                        {"GPU", true},
                        {"host", true}},
                       rows);
}

std::string against(const std::string& what, std::uint64_t need, std::uint64_t budget) {
  if (need <= budget) {
    return fmt::format("{}: {} of {}\n", what, format_byte_size(need), format_byte_size(budget));
  }
  return fmt::format("{}: {}, which is {} more than {}\n", what, format_byte_size(need),
                     format_byte_size(need - budget), format_byte_size(budget));
}

std::string verdict(const Plan& plan) {
  std::string text = plan.fits ? "It fits.\n" : "It does not fit.\n";
  if (plan.device == DeviceKind::cuda) {
    text += against("GPU memory", plan.peak_bytes, plan.budget.gpu_bytes);
  }
  if (plan.budget.host_bytes) {
    text += against("Host memory", plan.host_peak_bytes, *plan.budget.host_bytes);
  }
  return text;
}

std::string alternatives_table(const Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const PlanAlternative& each : plan.alternatives) {
    rows.push_back({options_text(each.options), size_cell(each.peak_bytes),
                    size_cell(each.host_peak_bytes), each.what});
  }
  return aligned_table({{"add to the command"}, {"GPU", true}, {"host", true}, {"what it is"}},
                       rows);
}

}  // namespace

std::string plan_table(const Plan& plan) {
  std::string text;
  if (plan.input_width > 0) {
    text += fmt::format("The network sees {} x {} px", plan.input_width, plan.input_height);
    text += plan.tokens_per_frame ? fmt::format(", {} tokens a frame.\n\n", *plan.tokens_per_frame)
                                  : ".\n\n";
  }
  text += component_table(plan) + "\n" + verdict(plan);
  text += "Settings: " + options_text(plan.settings) + "\n";
  for (const std::string& note : plan.notes) text += "Note: " + note + "\n";
  text += "Weights and caches are exact; workspaces are estimates.\n";
  if (!plan.alternatives.empty()) text += "\nThis would fit:\n\n" + alternatives_table(plan);
  return text;
}

}  // namespace skyfix
