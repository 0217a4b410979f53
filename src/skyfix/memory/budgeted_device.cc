#include "skyfix/memory/budgeted_device.h"

#include "skyfix/base/error.h"

namespace skyfix {

BudgetedDevice open_budgeted_gpu(const BudgetRequest& request, const FaultPlan& faults) {
  CudaDevice opened = open_cuda_device();
  const CudaCard& card = opened.facts.card;
  BudgetedDevice result;
  // The context was made a moment ago: what it took is the process's own.
  result.budget = resolve_budget(
      request, CardFacts{card.total_bytes, card.free_bytes > 0 ? card.free_bytes : card.total_bytes,
                         opened.facts.context_bytes, opened.facts.expandable_segments});
  if (!opened.facts.allocator_settings.empty()) {
    result.notes.push_back("the allocator keeps your settings: " + opened.facts.allocator_settings);
  }
  result.description = card.name;
  opened.device->set_cap(result.budget.cap_bytes());
  result.facts = opened.facts;
  result.device = std::move(opened.device);
  result.ledger = std::make_unique<Ledger>(*result.device, faults);
  return result;
}

BudgetedDevice open_budgeted_device(const std::string& name, const BudgetRequest& request,
                                    const FaultPlan& faults) {
  if (name == "cuda") return open_budgeted_gpu(request, faults);
  if (name != "cpu" && name != "auto") {
    throw Error(Reason::bad_option, "--device is '" + name + "'; allowed is auto, cpu or cuda");
  }
  const std::string why_not = name == "auto" ? why_no_gpu() : "--device cpu";
  if (name == "auto" && why_not.empty()) return open_budgeted_gpu(request, faults);
  BudgetedDevice result;
  result.budget.host_bytes = request.host_bytes;
  if (request.gpu_bytes) {
    result.notes.push_back("--gpu-memory has no effect: the CPU is used (" + why_not + ")");
  }
  return result;
}

}  // namespace skyfix
