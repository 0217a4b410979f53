// The options of every command that computes on a device within a memory budget.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "skyfix/localize/compute.h"
#include "skyfix/report/json_fields.h"

namespace skyfix::cli {

// As typed.
struct ComputeArguments {
  std::string device = "auto";
  std::string gpu_memory;   // empty = what is free, less a margin
  std::string host_memory;  // empty = no limit
  std::string cached_references = "auto";
  std::string allocation_failures;       // see parse_fault_plan
  std::int64_t no_allocation_after = 0;  // frames; 0 = off

  // Throws Error(bad_option) naming the option.
  ComputeOptions parsed() const;
};

// `arguments` must outlive the parsing.
void add_compute_options(CLI::App& app, ComputeArguments& arguments);

// None of these changes results, so they belong to the manifest's `about`.
Json about_compute(const ComputeArguments& arguments, const Compute& compute);
// How the manifest's `memory` begins: device, budget_mib, cap_mib (null = none).
Json memory_limits(const Compute& compute);

}  // namespace skyfix::cli
