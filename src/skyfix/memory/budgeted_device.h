// A device opened within a budget: what every job that computes on one begins with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skyfix/memory/budget.h"
#include "skyfix/memory/cuda_library.h"
#include "skyfix/memory/device.h"
#include "skyfix/memory/ledger.h"

namespace skyfix {

// Device before ledger: members go in reverse order.
struct BudgetedDevice {
  std::string description = "cpu";
  Budget budget;
  CudaContextFacts facts;          // of a GPU
  std::vector<std::string> notes;  // what is worth saying besides budget.notes
  std::unique_ptr<Device> device;  // null: the CPU computes alone
  std::unique_ptr<Ledger> ledger;
};

// The GPU, its allocator capped at what the budget leaves beside the measured context. Throws
// Error(no_gpu), Error(bad_option).
BudgetedDevice open_budgeted_gpu(const BudgetRequest& request, const FaultPlan& faults = {});

// "auto": the GPU where one can be used, else the CPU alone, with a note when a budget then has no
// effect. "cpu", "cuda". Throws Error(bad_option) for another name, and as open_budgeted_gpu.
BudgetedDevice open_budgeted_device(const std::string& name, const BudgetRequest& request,
                                    const FaultPlan& faults = {});

}  // namespace skyfix
