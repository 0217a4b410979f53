// Everything for CUDA is one shared library, libskyfix_cuda.so, opened when a GPU is asked for: the
// program starts without CUDA's libraries and without a driver. Without it, or without a GPU, the
// CPU is used, and this says why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/memory/device.h"

namespace skyfix {

struct CudaCard {
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  bool virtual_memory = false;  // expandable segments need it
};

// What the library finds on this machine. No context is made.
struct CudaProbe {
  std::string driver_version;  // NVIDIA's, "580.95.05"; empty = unknown
  int driver_cuda = 0;         // newest CUDA the driver serves, 13000 = 13.0
  int runtime_cuda = 0;        // CUDA the library was built for
  std::string torch_version;
  std::vector<CudaCard> cards;
  std::string problem;  // why no card can be used, with the remedy; empty when one can
};

struct CudaDeviceOptions {
  int card = 0;
};

// The device's own statements, besides Device's.
struct CudaContextFacts {
  CudaCard card;                    // free_bytes: before this process took any
  std::uint64_t context_bytes = 0;  // taken by the context and the loaded kernels; 0 = unknown
  bool expandable_segments = false;
  std::string allocator_settings;  // the user's own, from the environment; empty = ours
};

struct CudaDevice {
  std::unique_ptr<Device> device;
  CudaContextFacts facts;
};

class CudaLibrary {
 public:
  // Opens the library at the first call: SKYFIX_CUDA_LIBRARY, then ../lib beside the program.
  static const CudaLibrary& instance();
  bool loaded() const { return handle_ != nullptr; }
  const std::string& why_not() const { return why_not_; }  // names the missing library
  const std::filesystem::path& path() const { return path_; }
  void* symbol(const char* name) const;  // null when the library is not loaded or has no such

 private:
  CudaLibrary();
  std::filesystem::path path_;
  void* handle_ = nullptr;
  std::string why_not_;
};

// nullopt when the library is not loaded.
std::optional<CudaProbe> probe_cuda();
// Why a GPU cannot be used here; empty when one can.
std::string why_no_gpu();

// What the loader says when libskyfix_cuda.so is opened, driver or not: the first library that is
// missing. Empty when it opens.
std::string cuda_library_complaint();

// Makes the context on a card, with expandable segments unless the environment
// (PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF) says otherwise. Throws Error(no_gpu) saying what is
// missing.
CudaDevice open_cuda_device(const CudaDeviceOptions& options = {});

// What libskyfix_cuda.so exports as skyfix_cuda_memory().
struct CudaMemoryEntry {
  CudaProbe (*probe)();
  CudaDevice (*open)(const CudaDeviceOptions&);
};

}  // namespace skyfix
