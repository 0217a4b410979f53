// Recording of device work with LibTorch's CUDA graphs, and the rotary kernel, behind cuda_nn.h.
// Part of libskyfix_cuda.so.
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <mutex>

#include "skyfix/memory/device_errors.h"
#include "skyfix/nn/cuda_nn.h"
#include "skyfix/nn/rotary_cuda.h"

namespace skyfix::nn {
namespace {

// The memory that recordings share; given up with the last of them, for the allocator does not take
// a pool again that nobody uses.
struct Pool {
  at::cuda::MempoolId_t id = at::cuda::graph_pool_handle();
};

std::shared_ptr<Pool> shared_pool() {
  static std::mutex mutex;
  static std::weak_ptr<Pool> last;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Pool> pool = last.lock();
  if (!pool) last = pool = std::make_shared<Pool>();
  return pool;
}

class Recording : public RecordedWork {
 public:
  Recording() : pool_(shared_pool()) {}
  // A replay may be under way on any stream, and the allocator, which takes the memory for the
  // recording stream's, would give it back to the driver beneath it.
  ~Recording() override { cudaDeviceSynchronize(); }

  void record(const std::function<void()>& work) {
    // Only this thread's calls are held to what a recording allows: others go on.
    graph_.capture_begin(pool_->id, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      abandon();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  // Ends the recording, which an error may have made invalid. LibTorch then leaves the random
  // generator in the belief that it goes on.
  void abandon() noexcept {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      cudaGetLastError();
      const auto generator = at::cuda::detail::getDefaultCUDAGenerator();
      auto* state = generator.get<at::CUDAGeneratorImpl>();
      state->graphsafe_set_state(c10::make_intrusive<at::CUDAGeneratorImpl>(
          state->device().index(),
          c10::make_intrusive<at::CUDAGeneratorState>(state->current_seed(), 0)));
    }
  }

  std::shared_ptr<Pool> pool_;  // outlives the graph
  at::cuda::CUDAGraph graph_;
};

// One for all recordings: the libraries' workspaces are made for each stream.
c10::cuda::CUDAStream recording_stream() {
  static const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  return stream;
}

std::unique_ptr<RecordedWork> record(const std::function<void()>& warm_up,
                                     const std::function<void()>& work) {
  c10::cuda::getCurrentCUDAStream().synchronize();
  auto recording = std::make_unique<Recording>();
  const c10::cuda::CUDAStreamGuard guard(recording_stream());
  try {
    warm_up();
  } catch (...) {
    // What it reads is another stream's, and is let go now.
    cudaStreamSynchronize(recording_stream().stream());
    throw;
  }
  recording_stream().synchronize();
  // What that took is kept for this stream alone: nobody would have it again.
  c10::cuda::CUDACachingAllocator::emptyCache();
  recording->record(work);
  return recording;
}

void rotate(const RotaryWork& work) {
  const int status = launch_rotary(work, c10::cuda::getCurrentCUDAStream().stream());
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw_device_error(
      std::string("kernel launch: ") + cudaGetErrorString(static_cast<cudaError_t>(status)), 0);
}

constexpr CudaNnEntry kEntry{record, rotate};

}  // namespace
}  // namespace skyfix::nn

extern "C" __attribute__((visibility("default"))) const skyfix::nn::CudaNnEntry* skyfix_cuda_nn() {
  return &skyfix::nn::kEntry;
}
