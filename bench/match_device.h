// The match benchmark on a device: inputs and outputs stay there, work is queued and waited for.
#pragma once

#include <vector>

#include "bench/match_benchmark.h"
#include "skyfix/match/match_kernels.h"
#include "skyfix/memory/device.h"

namespace skyfix::bench {

// Rows: skyfix (check_rows, accumulate and decode on resident rows of options.type), torch_full,
// torch_chunks (both float32). What runs out of memory gets a row that says so. The host stand-in
// device works too.
std::vector<MatchBenchmarkRow> benchmark_match_on(Device& device, MatchKernels& kernels,
                                                  const MatchShape& shape,
                                                  const MatchBenchmarkOptions& options);

}  // namespace skyfix::bench
