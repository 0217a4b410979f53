#include "skyfix/memory/cuda_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "skyfix/base/error.h"

namespace skyfix {
namespace fs = std::filesystem;
namespace {

fs::path library_path() {
  if (const char* given = std::getenv("SKYFIX_CUDA_LIBRARY")) return given;
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  return program.parent_path().parent_path() / "lib" / "libskyfix_cuda.so";
}

bool driver_is_installed() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return driver != nullptr;  // kept open: CUDA would open it again
}

const CudaMemoryEntry* memory_entry() {
  using Entry = const CudaMemoryEntry* (*)();
  const auto entry = reinterpret_cast<Entry>(CudaLibrary::instance().symbol("skyfix_cuda_memory"));
  return entry == nullptr ? nullptr : entry();
}

}  // namespace

CudaLibrary::CudaLibrary() : path_(library_path()) {
  std::error_code failure;
  if (!fs::exists(path_, failure)) {
    why_not_ = path_.string() + " is not there: this build has no CUDA part";
    return;
  }
  // Asked first, because CUDA's libraries take a second to load.
  if (!driver_is_installed()) {
    why_not_ = "libcuda.so.1 is not installed: there is no NVIDIA driver on this machine";
    return;
  }
  handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* text = ::dlerror();
    why_not_ = text == nullptr ? "unknown error of dlopen" : text;
  }
}

const CudaLibrary& CudaLibrary::instance() {
  static const CudaLibrary library;
  return library;
}

void* CudaLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

std::optional<CudaProbe> probe_cuda() {
  const CudaMemoryEntry* entry = memory_entry();
  if (entry == nullptr) return std::nullopt;
  return entry->probe();
}

std::string why_no_gpu() {
  const CudaLibrary& library = CudaLibrary::instance();
  if (!library.loaded()) return library.why_not();
  const auto probe = probe_cuda();
  if (!probe) return library.path().string() + " is of another version of Skyfix";
  return probe->problem;
}

std::string cuda_library_complaint() {
  const CudaLibrary& library = CudaLibrary::instance();
  if (library.loaded()) return {};
  void* handle = ::dlopen(library.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return {};  // stays open: LibTorch cannot be unloaded
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error of dlopen" : text;
}

CudaDevice open_cuda_device(const CudaDeviceOptions& options) {
  const std::string problem = why_no_gpu();
  if (!problem.empty()) {
    throw Error(Reason::no_gpu, "no GPU can be used: " + problem +
                                    ". `skyfix doctor` says more; "
                                    "--device cpu does without");
  }
  return memory_entry()->open(options);
}

}  // namespace skyfix
