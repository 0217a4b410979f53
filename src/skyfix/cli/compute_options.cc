#include "skyfix/cli/compute_options.h"

#include <spdlog/fmt/fmt.h>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/text.h"

namespace skyfix::cli {
namespace {

Json mib_or_null(std::uint64_t bytes) {
  return bytes == 0 ? Json(nullptr) : Json(static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

ComputeOptions ComputeArguments::parsed() const {
  ComputeOptions options;
  options.device = device;
  require_device_name(device);
  if (!gpu_memory.empty()) options.gpu_bytes = parse_byte_size(gpu_memory, "--gpu-memory");
  if (!host_memory.empty()) options.host_bytes = parse_byte_size(host_memory, "--host-memory");
  if (cached_references != "auto") {
    const auto count = parse_integer(cached_references);
    if (!count || *count < 0) {
      throw Error(Reason::bad_option,
                  fmt::format("--ref-cache-max-frames is {}; allowed is auto, 0 (off) or more",
                              cached_references));
    }
    options.cached_references = static_cast<std::uint64_t>(*count);
  }
  if (no_allocation_after < 0) {
    throw Error(Reason::bad_option,
                fmt::format("--no-allocation-after is {}; allowed is 0 (off) or more",
                            no_allocation_after));
  }
  options.forbids_allocations = no_allocation_after > 0;
  options.faults = parse_fault_plan(allocation_failures, "--inject-allocation-failures");
  return options;
}

void add_compute_options(CLI::App& app, ComputeArguments& arguments) {
  app.add_option("--device", arguments.device,
                 "auto (the GPU where one can be used), cpu or cuda; host: main memory in a GPU's "
                 "place, for tests. Results do not depend on it")
      ->capture_default_str();
  app.add_option("--gpu-memory", arguments.gpu_memory,
                 "All device memory the program may use, e.g. 8GiB (default: what is free, less a "
                 "margin)");
  app.add_option("--host-memory", arguments.host_memory,
                 "Refuse to start where this much main memory would not do, e.g. 4GiB");
  app.add_option("--ref-cache-max-frames", arguments.cached_references,
                 "Map images kept on the device from photo to photo; auto: 8, up to a budget of "
                 "8 GiB 4, less if the plan must; 0 = off")
      ->capture_default_str();
  app.add_option("--inject-allocation-failures", arguments.allocation_failures,
                 "For tests: device allocations that fail, as nth=3, above=4MiB or "
                 "probability=0.01,seed=7");
  app.add_option("--no-allocation-after", arguments.no_allocation_after,
                 "For tests: allocating on the device after this many photos is an error; 0 = off")
      ->capture_default_str();
}

Json about_compute(const ComputeArguments& arguments, const Compute& compute) {
  const auto text = [](const std::string& typed) {
    return typed.empty() ? Json(nullptr) : Json(typed);
  };
  Json json;
  json["device"] = compute.description;
  json["device_asked_for"] = arguments.device;
  json["gpu_memory"] = text(arguments.gpu_memory);
  json["host_memory"] = text(arguments.host_memory);
  json["ref_cache_max_frames"] = arguments.cached_references;
  json["inject_allocation_failures"] = text(arguments.allocation_failures);
  json["notes"] = compute.notes;
  return json;
}

Json memory_limits(const Compute& compute) {
  Json json;
  json["device"] = compute.description;
  json["budget_mib"] = mib_or_null(compute.budget_bytes);
  json["cap_mib"] = mib_or_null(compute.device ? compute.device->figures().cap_bytes : 0);
  return json;
}

}  // namespace skyfix::cli
