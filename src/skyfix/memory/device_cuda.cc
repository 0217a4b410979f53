// The GPU as a Device: LibTorch's caching allocator with a hard cap, so that networks and our own
// kernels draw on one account. Part of libskyfix_cuda.so.
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "skyfix/memory/cuda_library.h"
#include "skyfix/memory/device_errors.h"
#include "skyfix/memory/nvml.h"
#include "skyfix/memory/torch_errors.h"

namespace skyfix {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using c10::CachingAllocator::StatType;

constexpr int kNeededDriverCuda = 13000;  // CUDA 13.0: driver 580 or newer

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw_device_error(std::string(call) + ": " + cudaGetErrorString(status), 0);
}

const char* users_settings() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (const char* value = std::getenv(name)) return value;
  }
  return nullptr;
}

std::string bus_id_of(int card) {
  char text[64] = "";
  return cudaDeviceGetPCIBusId(text, sizeof(text), card) == cudaSuccess ? text : "";
}

CudaCard describe(int index) {
  CudaCard card;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) return card;
  card.name = properties.name;
  card.compute_major = properties.major;
  card.compute_minor = properties.minor;
  card.multiprocessors = properties.multiProcessorCount;
  card.total_bytes = properties.totalGlobalMem;
  int pools = 0;
  // The driver serves virtual memory management where it serves stream-ordered pools.
  cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, index);
  card.virtual_memory = pools != 0;
  const auto memory = card_memory(bus_id_of(index));
  card.free_bytes = memory ? card.total_bytes - std::min(card.total_bytes, memory->used_bytes) : 0;
  return card;
}

CudaProbe probe() {
  CudaProbe found;
  found.driver_version = nvidia_driver_version();
  found.torch_version = TORCH_VERSION;
  cudaDriverGetVersion(&found.driver_cuda);
  cudaRuntimeGetVersion(&found.runtime_cuda);
  if (found.driver_cuda < kNeededDriverCuda) {
    found.problem = "the NVIDIA driver" +
                    (found.driver_version.empty() ? "" : " " + found.driver_version) +
                    " is too old for CUDA 13: install driver 580 or newer";
    return found;
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    found.problem = std::string("the driver shows no GPU (") + cudaGetErrorString(status) +
                    "): check nvidia-smi and CUDA_VISIBLE_DEVICES";
    return found;
  }
  for (int i = 0; i < count; ++i) found.cards.push_back(describe(i));
  return found;
}

// LibTorch's trace of its allocator, passed on. It cannot be detached: the watcher is what changes.
class Trace {
 public:
  static Trace& of_process() {
    static Trace trace;
    return trace;
  }
  // The first caller's card.
  void attach(int card) {
    std::call_once(attached_, [&] {
      allocator::attachAllocatorTraceTracker([this, card](const allocator::TraceEntry& entry) {
        if (entry.device_ == card) pass_on(entry);
      });
    });
  }
  void watch(AllocationWatcher* watcher) {
    const std::lock_guard lock(mutex_);
    watcher_ = watcher;
  }
  void unwatch(const AllocationWatcher* watcher) {
    const std::lock_guard lock(mutex_);
    if (watcher_ == watcher) watcher_ = nullptr;
  }

 private:
  void pass_on(const allocator::TraceEntry& entry) {
    using Action = allocator::TraceEntry::Action;
    if (entry.action_ != Action::ALLOC && entry.action_ != Action::FREE_REQUESTED) return;
    const std::lock_guard lock(mutex_);
    if (watcher_ == nullptr) return;
    void* address = reinterpret_cast<void*>(entry.addr_);
    if (entry.action_ == Action::ALLOC) {
      watcher_->taken(address, entry.size_);
    } else {
      watcher_->given_back(address);
    }
  }

  std::once_flag attached_;
  std::mutex mutex_;
  AllocationWatcher* watcher_ = nullptr;
};

class CudaMemory : public Device {
 public:
  explicit CudaMemory(int card) : card_(card), bus_id_(bus_id_of(card)) {
    if (const auto memory = card_memory(bus_id_)) used_before_ = memory->used_bytes;
    facts_.card = describe(card);
    configure();
    check(cudaSetDevice(card_), "cudaSetDevice");
    check(cudaFree(nullptr), "making the CUDA context");
    with_torch_errors(0, [&] {
      allocator::init(c10::cuda::device_count());
      Trace::of_process().attach(card_);
    });
    facts_.context_bytes = used_bytes();
  }

  const CudaContextFacts& facts() const { return facts_; }

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string name() const override { return facts_.card.name; }

  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    return with_torch_errors(bytes, [&] {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(card_));
      return allocator::raw_alloc_with_stream(bytes, stream());
    });
  }

  void release(void* address) noexcept override {
    if (address == nullptr) return;
    try {
      allocator::raw_delete(address);
    } catch (const std::exception&) {
      // After a device error the allocator may refuse; the process ends soon anyway.
    }
  }

  void upload(void* device, const void* host, std::size_t bytes) override {
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()), "upload");
    check(cudaStreamSynchronize(stream()), "upload");
  }

  void download(void* host, const void* device, std::size_t bytes) override {
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream()), "download");
    check(cudaStreamSynchronize(stream()), "download");
  }

  void synchronize() override { check(cudaStreamSynchronize(stream()), "synchronize"); }

  void trim() override {
    with_torch_errors(0, [] { allocator::emptyCache(); });
  }

  void set_cap(std::uint64_t bytes) override {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    cap_bytes_ = bytes;
    const double fraction =
        bytes == 0 ? 1.0 : static_cast<double>(bytes) / static_cast<double>(total);
    with_torch_errors(0, [&] {
      allocator::setMemoryFraction(std::min(1.0, fraction), static_cast<c10::DeviceIndex>(card_));
    });
  }

  DeviceFigures figures() const override {
    const auto stats = allocator::getDeviceStats(static_cast<c10::DeviceIndex>(card_));
    const auto all = static_cast<std::size_t>(StatType::AGGREGATE);
    DeviceFigures figures;
    figures.allocated_bytes = stats.allocated_bytes[all].current;
    figures.reserved_bytes = stats.reserved_bytes[all].current;
    figures.peak_allocated_bytes = stats.allocated_bytes[all].peak;
    figures.peak_reserved_bytes = stats.reserved_bytes[all].peak;
    figures.used_bytes = used_bytes();
    figures.cap_bytes = cap_bytes_;
    return figures;
  }

  void reset_peaks() override { allocator::resetPeakStats(static_cast<c10::DeviceIndex>(card_)); }

  void watch(AllocationWatcher* watcher) override { Trace::of_process().watch(watcher); }
  void unwatch(AllocationWatcher* watcher) override { Trace::of_process().unwatch(watcher); }

 private:
  // Before the first allocation, or it has no effect.
  void configure() {
    if (const char* settings = users_settings()) {
      facts_.allocator_settings = settings;
    } else if (facts_.card.virtual_memory) {
      c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
    }
    facts_.expandable_segments =
        c10::CachingAllocator::AcceleratorAllocatorConfig::use_expandable_segments();
  }

  cudaStream_t stream() const {
    return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(card_)).stream();
  }

  // What the card shows as used now, less what others used before: exact while they stay still.
  std::uint64_t used_bytes() const {
    const auto memory = card_memory(bus_id_);
    return memory && memory->used_bytes > used_before_ ? memory->used_bytes - used_before_ : 0;
  }

  int card_;
  std::string bus_id_;
  std::uint64_t used_before_ = 0;
  std::uint64_t cap_bytes_ = 0;
  CudaContextFacts facts_;
};

CudaDevice open(const CudaDeviceOptions& options) {
  auto device = std::make_unique<CudaMemory>(options.card);
  CudaContextFacts facts = device->facts();
  return {std::move(device), std::move(facts)};
}

constexpr CudaMemoryEntry kEntry{probe, open};

}  // namespace
}  // namespace skyfix

extern "C" __attribute__((visibility("default"))) const skyfix::CudaMemoryEntry*
skyfix_cuda_memory() {
  return &skyfix::kEntry;
}
