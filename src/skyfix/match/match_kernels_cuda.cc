// The launches of nearest_cuda.h behind the interface, on LibTorch's current stream. Part of
// libskyfix_cuda.so.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "skyfix/match/cuda_match_kernels.h"
#include "skyfix/match/nearest_cuda.h"
#include "skyfix/memory/device_errors.h"

namespace skyfix {
namespace {

void check(int status) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw_device_error(
      std::string("kernel launch: ") + cudaGetErrorString(static_cast<cudaError_t>(status)), 0);
}

class CudaMatchKernels : public MatchKernels {
 public:
  explicit CudaMatchKernels(int multiprocessors) : multiprocessors_(multiprocessors) {}

  void check_rows(const DeviceRows& rows, float* bias) override {
    check(skyfix::match::launch_check_rows(rows, bias, stream()));
  }
  void clear_keys(MatchKey* keys, std::int64_t count) override {
    check(skyfix::match::launch_clear_keys(keys, count, stream()));
  }
  void accumulate(std::span<const MatchWork> work) override {
    check(skyfix::match::launch_accumulate(work, multiprocessors_, stream()));
  }
  void decode(MatchKey* keys_to_indices, float* scores, std::int64_t count) override {
    check(skyfix::match::launch_decode(keys_to_indices, scores, count, stream()));
  }
  void keep_mutual(const MutualWork& work) override {
    check(skyfix::match::launch_keep_mutual(work, stream()));
  }
  void match(const MatchWork& work, float* query_bias, float* map_bias, float* query_scores,
             float* map_scores) override {
    check(skyfix::match::launch_match(work, query_bias, map_bias, query_scores, map_scores,
                                      multiprocessors_, stream()));
  }
  void runner_up(const DeviceRows& query, const std::int64_t* listed,
                 const std::uint32_t* row_group, std::int64_t listed_count, const DeviceRows& map,
                 const std::uint32_t* map_group, float* best) override {
    check(skyfix::match::launch_runner_up(query, listed, row_group, listed_count, map, map_group,
                                          best, multiprocessors_, stream()));
  }

 private:
  static void* stream() { return c10::cuda::getCurrentCUDAStream().stream(); }
  int multiprocessors_;
};

std::unique_ptr<MatchKernels> make(const CudaContextFacts& facts) {
  return std::make_unique<CudaMatchKernels>(facts.card.multiprocessors);
}

constexpr CudaMatchEntry kEntry{make};

}  // namespace
}  // namespace skyfix

extern "C" __attribute__((visibility("default"))) const skyfix::CudaMatchEntry*
skyfix_cuda_match() {
  return &skyfix::kEntry;
}
