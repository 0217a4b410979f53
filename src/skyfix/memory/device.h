// Memory of one device, and copies to and from it. Two kinds: the GPU through LibTorch's caching
// allocator (cuda_library.h opens it), and host memory that stands in for a device, with a cap of
// its own: the tests of everything above run on it, without a GPU.
//
// Nothing but a Ledger (ledger.h) should call allocate(): memory without an owner cannot be
// explained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyfix {

enum class DeviceKind { cpu, cuda };
std::string_view device_kind_name(DeviceKind kind);

// Which part of the device's software ran out of memory. All are answered alike (retry.h).
enum class MemoryFailure { allocator, library_workspace, module_loading, graph, pinned, injected };
std::string_view memory_failure_name(MemoryFailure failure);

// Out of device memory: the frame in hand is retried with less, nothing is lost.
class OutOfDeviceMemory : public std::bad_alloc {
 public:
  OutOfDeviceMemory(MemoryFailure failure, std::uint64_t bytes, std::string owner);
  const char* what() const noexcept override { return text_.c_str(); }
  MemoryFailure failure() const { return failure_; }
  std::uint64_t bytes() const { return bytes_; }  // asked for; 0 = unknown
  const std::string& owner() const { return owner_; }

 private:
  MemoryFailure failure_;
  std::uint64_t bytes_;
  std::string owner_;
  std::string text_;
};

// Any other device error. The device cannot be trusted after it: the run stops, what is recorded is
// kept, and --resume goes on.
class DeviceFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceFigures {
  std::uint64_t allocated_bytes = 0;  // handed out and not returned
  std::uint64_t reserved_bytes = 0;   // held by the allocator, handed out or not
  std::uint64_t used_bytes =
      0;  // by this process, context included, as the driver counts; 0 = unknown
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t cap_bytes = 0;  // of reserved_bytes
};

// Is told of memory of a device that is taken and given back by others than allocate() (LibTorch,
// for networks). Called under the allocator's lock: it must not use the device.
class AllocationWatcher {
 public:
  virtual ~AllocationWatcher() = default;
  virtual void taken(void* address, std::uint64_t bytes) noexcept = 0;
  virtual void given_back(void* address) noexcept = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;
  // At least 256-byte aligned, not initialised. Throws OutOfDeviceMemory (owner empty) beyond the
  // cap or what the card has, DeviceFailure otherwise. 0 bytes give null.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* address) noexcept = 0;
  // In order with the device's work; both return when the host side may be reused or read.
  virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
  virtual void download(void* host, const void* device, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  // Gives blocks that are reserved but not handed out back to the driver.
  virtual void trim() = 0;
  virtual void set_cap(std::uint64_t bytes) = 0;
  virtual DeviceFigures figures() const = 0;
  virtual void reset_peaks() = 0;
  // The last one given is told, until it is taken off; a device that nobody else allocates on tells
  // nothing.
  virtual void watch(AllocationWatcher* /*watcher*/) {}
  virtual void unwatch(AllocationWatcher* /*watcher*/) {}
};

// Host memory that behaves like a device with `cap_bytes` (0 = no cap). Thread-safe. It keeps freed
// blocks reserved until trim(), as a caching allocator does.
std::unique_ptr<Device> make_host_device(std::uint64_t cap_bytes = 0);

}  // namespace skyfix
