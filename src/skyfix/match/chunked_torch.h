// Exact mutual nearest neighbours with LibTorch's operators, on any device that LibTorch knows: the
// portable twin of mutual_nearest.h and of the GPU's kernels, with the product matrix in chunks of
// query rows. Rules as in mutual_nearest.h; ties go to the lowest index whatever the device.
// Products are summed in whatever order the device's library likes, without TF32, so neighbours
// whose products differ by less than float32 rounding may be chosen otherwise than there.
#pragma once

#include <cstdint>

#include "skyfix/match/mutual_nearest.h"
#include "skyfix/memory/device.h"

namespace skyfix {

struct TorchMatchOptions {
  std::int64_t chunk_rows = 4096;  // query rows whose products are held at once; 0 = all
  DeviceKind device = DeviceKind::cpu;
};

// Rows are on the host. Besides them the device holds about 9 bytes a product of one chunk. For a
// GPU, call open_cuda_device() before anything else that uses LibTorch. Throws Error(no_gpu) where
// it cannot be, OutOfDeviceMemory, and DeviceFailure for LibTorch's other errors.
NearestNeighbours nearest_neighbours_torch(DescriptorView query, DescriptorView map,
                                           const TorchMatchOptions& options = {});

}  // namespace skyfix
