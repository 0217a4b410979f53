// Mutual nearest neighbours of rows that lie on the device already (a network's descriptors): only
// the pairs come to the host.
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/match/match_kernels.h"
#include "skyfix/match/match_workspace.h"
#include "skyfix/memory/ledger.h"

namespace skyfix {

// fp32 rows, dense, and how sure each of them is of itself ([rows]; both sides or neither).
struct SureRows {
  const float* rows = nullptr;
  std::int64_t count = 0;
  int dimension = 0;
  const float* sure = nullptr;
};

struct SurePair {
  MutualPair mutual;
  float sure = 0;  // of the less sure side; 0 where nobody said
};

// Not thread-safe. Its memory is kept from call to call (released as a cache).
class DevicePairs {
 public:
  // Both must outlive it. No allocation happens here.
  DevicePairs(Ledger& ledger, MatchKernels& kernels) : ledger_(ledger), kernels_(kernels) {}

  // Pairs by rising query index, to the bit those of mutual_nearest.h on the same rows (on the CPU
  // AVX2 or later). The rows are in order with the kernels' work. Throws OutOfDeviceMemory,
  // DeviceFailure.
  std::vector<SurePair> match(const SureRows& query, const SureRows& map);

  ReleasableCache& workspace() { return workspace_; }

 private:
  struct Arrays;
  Arrays take(const SureRows& query, const SureRows& map);
  Ledger& ledger_;
  MatchKernels& kernels_;
  match::MatchWorkspace workspace_;
};

// The twin, for rows in main memory, without a device.
std::vector<SurePair> sure_pairs_on_host(const SureRows& query, const SureRows& map);

}  // namespace skyfix
