// What networks need of CUDA beyond LibTorch's operators: recorded graphs and a kernel of ours,
// from libskyfix_cuda.so. Knows neither LibTorch nor CUDA; graph_torch.h and rotary_torch.h are
// what networks use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace skyfix::nn {

// Device work that was recorded once and is launched as a whole.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  // On the current stream; reads and writes the memory that it was recorded with.
  virtual void replay() = 0;
};

// `heads` heads of `parts` parts each, at the beginning of every token's row: rotate_heads.
struct RotaryWork {
  void* rows = nullptr;
  const float* sin = nullptr;  // [period, parts, head_size / parts]
  const float* cos = nullptr;
  std::int64_t tokens = 0;      // rows in all
  std::int64_t period = 0;      // tokens of one picture
  std::int64_t row_stride = 0;  // elements
  int heads = 0;
  int head_size = 0;
  int parts = 1;
  bool neighbours = false;  // pairs (2 j, 2 j + 1), not (j, j + half)
  int element = 0;          // 0 float32, 1 float16, 2 bfloat16
};

// What libskyfix_cuda.so exports as skyfix_cuda_nn().
struct CudaNnEntry {
  // Runs `warm_up` on a stream of its own and then records `work` there, the same calls: what is
  // made at the first use (workspaces, plans) cannot be recorded. Memory that is taken while it is
  // recorded belongs to the recording, and is shared with the other recordings where nobody holds
  // it. Throws what LibTorch and both throw; nothing is left behind then.
  std::unique_ptr<RecordedWork> (*record)(const std::function<void()>& warm_up,
                                          const std::function<void()>& work);
  // On the current stream. Throws OutOfDeviceMemory, DeviceFailure.
  void (*rotate)(const RotaryWork& work);
};

// Null where there is no CUDA part.
const CudaNnEntry* cuda_nn();

}  // namespace skyfix::nn
