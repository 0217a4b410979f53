// The matcher as one writes it with LibTorch: the product matrix, whole or in chunks of rows, and
// its maxima both ways. Peers for comparison: ties fall as LibTorch lets them, rows that are not
// finite are not looked for. The exact twin is match/chunked_torch.h.
#pragma once

#include <cstdint>
#include <string>

#include "skyfix/memory/device.h"

namespace skyfix::bench {

inline constexpr std::int64_t kTorchChunkRows = 4096;

// Float32 rows and the results' places, all on one device.
struct MatchArrays {
  const float* query = nullptr;  // [n x dimension]
  const float* map = nullptr;    // [m x dimension]
  std::int64_t n = 0;
  std::int64_t m = 0;
  int dimension = 0;
  std::int64_t* nn_query = nullptr;  // [n]
  float* score_query = nullptr;      // [n]
  std::int64_t* nn_map = nullptr;    // [m]
  float* score_map = nullptr;        // [m]
};

// Full precision (no TF32), and as many threads on the CPU.
void set_up_torch(DeviceKind device, int threads);
std::string torch_version();

// On a GPU both return when the work is queued. Throw OutOfDeviceMemory, and DeviceFailure for
// LibTorch's other errors.
void match_by_full_matrix(const MatchArrays& arrays, DeviceKind device);
void match_by_chunks(const MatchArrays& arrays, DeviceKind device, std::int64_t chunk_rows);

// Bytes of the matrix that match_by_full_matrix makes.
inline std::int64_t full_matrix_bytes(std::int64_t n, std::int64_t m) {
  return n * m * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace skyfix::bench
