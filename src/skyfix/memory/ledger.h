// Who holds how much of a device: every allocation has an owner by name, so that a peak is
// explained and not guessed. One ledger a device and run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "skyfix/memory/device.h"
#include "skyfix/memory/fault_injection.h"

namespace skyfix {

class Ledger;

// An allocation while they are forbidden: a programming error, named by its owner.
class AllocationForbidden : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Device memory that is returned when it goes out of scope. Movable; empty by default.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();
  void* data() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(address_);
  }
  void reset();

 private:
  friend class Ledger;
  Ledger* ledger_ = nullptr;
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

struct OwnerFigures {
  std::uint64_t bytes = 0;
  std::uint64_t peak_bytes = 0;     // its own highest
  std::uint64_t bytes_at_peak = 0;  // when the sum of all owners was highest
};

struct LedgerFigures {
  DeviceFigures device;
  std::uint64_t bytes = 0;       // sum of all owners
  std::uint64_t peak_bytes = 0;  // its highest
  std::map<std::string, OwnerFigures> by_owner;
};

// Thread-safe. The device must outlive the ledger, the ledger its buffers.
class Ledger : private AllocationWatcher {
 public:
  explicit Ledger(Device& device, const FaultPlan& faults = {});
  ~Ledger() override;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Throws OutOfDeviceMemory naming the owner; AllocationForbidden naming it while they are
  // forbidden. 0 bytes give an empty buffer.
  DeviceBuffer allocate(std::size_t bytes, std::string_view owner);

  // Memory that another allocator of the same device hands out. note_taken asks the fault injector
  // too, before the memory is touched. (What the device tells of by itself, LibTorch's allocations
  // within an OwnerScope, is booked without asking anybody: its trace cannot refuse.)
  void note_taken(void* address, std::uint64_t bytes, std::string_view owner);
  void note_released(void* address) noexcept;

  // Debug: from now on every allocation is a programming error (AllocationForbidden).
  void forbid_allocations(bool forbidden);

  LedgerFigures figures() const;
  void reset_peaks();  // of owners, sum and device; current values become the peaks
  Device& device() const { return device_; }
  const FaultInjector& faults() const { return faults_; }

 private:
  friend class DeviceBuffer;
  void taken(void* address, std::uint64_t bytes) noexcept override;
  void given_back(void* address) noexcept override { note_released(address); }
  struct Entry {
    std::uint64_t bytes;
    OwnerFigures* owner;  // in owners_, from which nothing is ever taken
  };
  void book(void* address, std::uint64_t bytes, std::string_view owner);
  void strike(void* address) noexcept;  // mutex held; an unknown address is no error
  void release(void* address) noexcept;
  void raise_if_refused(std::uint64_t bytes, std::string_view owner);

  Device& device_;
  FaultInjector faults_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, Entry> entries_;
  std::map<std::string, OwnerFigures, std::less<>> owners_;
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  bool forbidden_ = false;
};

}  // namespace skyfix
