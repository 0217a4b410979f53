#include "skyfix/memory/nvml.h"

#include <dlfcn.h>

namespace skyfix {
namespace {

// The few declarations of NVML (its documented, stable interface) that are used.
struct NvmlMemory {
  unsigned long long total, free, used;
};
using NvmlDevice = void*;

class Nvml {
 public:
  static const Nvml& instance() {
    static const Nvml nvml;
    return nvml;
  }
  bool ready() const { return ready_; }
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_by_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*memory_info)(NvmlDevice, NvmlMemory*) = nullptr;

 private:
  Nvml() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*init)() = nullptr;
    ready_ = find(library, "nvmlInit_v2", init) &&
             find(library, "nvmlSystemGetDriverVersion", driver_version) &&
             find(library, "nvmlDeviceGetHandleByPciBusId_v2", device_by_bus_id) &&
             find(library, "nvmlDeviceGetMemoryInfo", memory_info) && init() == 0;
  }
  template <class Function>
  static bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
  bool ready_ = false;
};

}  // namespace

std::string nvidia_driver_version() {
  const Nvml& nvml = Nvml::instance();
  char text[96] = "";
  if (!nvml.ready() || nvml.driver_version(text, sizeof(text)) != 0) return {};
  return text;
}

std::optional<CardMemory> card_memory(const std::string& pci_bus_id) {
  const Nvml& nvml = Nvml::instance();
  NvmlDevice device = nullptr;
  NvmlMemory memory{};
  if (!nvml.ready() || nvml.device_by_bus_id(pci_bus_id.c_str(), &device) != 0 ||
      nvml.memory_info(device, &memory) != 0) {
    return std::nullopt;
  }
  return CardMemory{memory.total, memory.used};
}

}  // namespace skyfix
