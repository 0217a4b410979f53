#include "skyfix/report/plan_report.h"

namespace skyfix {
namespace {

Json settings_json(const std::vector<PlanOption>& options) {
  Json json = Json::object();
  for (const PlanOption& option : options) json[option.name.substr(2)] = option.value;
  return json;
}

Json component_json(const ComponentNeed& need) {
  return {{"owner", need.owner},
          {"weights_bytes", need.weights_bytes},
          {"workspace_bytes", need.workspace_bytes},
          {"growth_bytes", need.growth_bytes},
          {"growth_count", need.growth_count},
          {"growth_unit", need.growth_unit},
          {"bytes", need.device_bytes()},
          {"host_bytes", need.host_bytes}};
}

Json alternative_json(const PlanAlternative& each) {
  return {{"what", each.what},
          {"options", options_text(each.options)},
          {"settings", settings_json(each.settings)},
          {"peak_bytes", each.peak_bytes},
          {"host_peak_bytes", each.host_peak_bytes},
          {"fits", each.fits}};
}

Json budget_json(const Budget& budget) {
  return {{"gpu_bytes", budget.gpu_bytes},
          {"context_bytes", budget.context_bytes},
          {"context_measured", budget.context_measured},
          {"cap_bytes", budget.cap_bytes()},
          {"host_bytes", budget.host_bytes ? Json(*budget.host_bytes) : Json()}};
}

}  // namespace

Json plan_json(const Plan& plan) {
  Json by_owner = Json::object();
  Json host_by_owner = Json::object();
  Json components = Json::array();
  for (const ComponentNeed& need : plan.components) {
    if (need.device_bytes() > 0) by_owner[need.owner] = need.device_bytes();
    if (need.host_bytes > 0) host_by_owner[need.owner] = need.host_bytes;
    components.push_back(component_json(need));
  }
  Json alternatives = Json::array();
  for (const PlanAlternative& each : plan.alternatives) {
    alternatives.push_back(alternative_json(each));
  }
  Json input;
  if (plan.input_width > 0) {
    input = {{"width", plan.input_width}, {"height", plan.input_height}};
  }
  return {{"schema", "skyfix-plan-1"},
          {"job", plan.job},
          {"device", std::string(device_kind_name(plan.device))},
          {"fits", plan.fits},
          {"peak_bytes", plan.peak_bytes},
          {"host_peak_bytes", plan.host_peak_bytes},
          {"budget", budget_json(plan.budget)},
          {"network_input", input},
          {"tokens_per_frame", plan.tokens_per_frame ? Json(*plan.tokens_per_frame) : Json()},
          {"by_owner", by_owner},
          {"host_by_owner", host_by_owner},
          {"components", components},
          {"settings", settings_json(plan.settings)},
          {"notes", plan.notes},
          {"alternatives", alternatives}};
}

}  // namespace skyfix
