#include "skyfix/memory/ledger.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "skyfix/memory/owner_scope.h"

namespace skyfix {

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this != &other) {
    reset();
    ledger_ = std::exchange(other.ledger_, nullptr);
    address_ = std::exchange(other.address_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

DeviceBuffer::~DeviceBuffer() { reset(); }

void DeviceBuffer::reset() {
  if (address_ != nullptr) ledger_->release(address_);
  ledger_ = nullptr;
  address_ = nullptr;
  bytes_ = 0;
}

Ledger::Ledger(Device& device, const FaultPlan& faults) : device_(device), faults_(faults) {
  device_.watch(this);
}

Ledger::~Ledger() { device_.unwatch(this); }

DeviceBuffer Ledger::allocate(std::size_t bytes, std::string_view owner) {
  DeviceBuffer buffer;
  if (bytes == 0) return buffer;
  raise_if_refused(bytes, owner);
  // Not under the mutex: the device may call back (note_taken), and it may take its time.
  void* address = nullptr;
  const OwnerScope booked_here("");
  try {
    address = device_.allocate(bytes);
  } catch (const OutOfDeviceMemory& failure) {
    if (!failure.owner().empty()) throw;
    throw OutOfDeviceMemory(failure.failure(), bytes, std::string(owner));
  }
  try {
    book(address, bytes, owner);
  } catch (...) {
    device_.release(address);
    throw;
  }
  buffer.ledger_ = this;
  buffer.address_ = address;
  buffer.bytes_ = bytes;
  return buffer;
}

void Ledger::note_taken(void* address, std::uint64_t bytes, std::string_view owner) {
  if (address == nullptr || bytes == 0) return;
  raise_if_refused(bytes, owner);
  book(address, bytes, owner);
}

void Ledger::taken(void* address, std::uint64_t bytes) noexcept {
  const std::string_view owner = OwnerScope::current();
  if (owner.empty() || bytes == 0) return;
  try {
    book(address, bytes, owner);
  } catch (const std::bad_alloc&) {
    // Host memory for the entry: it stays unexplained.
  }
}

void Ledger::note_released(void* address) noexcept {
  const std::lock_guard lock(mutex_);
  strike(address);
}

void Ledger::forbid_allocations(bool forbidden) {
  const std::lock_guard lock(mutex_);
  forbidden_ = forbidden;
}

LedgerFigures Ledger::figures() const {
  LedgerFigures figures;
  figures.device = device_.figures();
  const std::lock_guard lock(mutex_);
  figures.bytes = bytes_;
  figures.peak_bytes = peak_bytes_;
  figures.by_owner.insert(owners_.begin(), owners_.end());
  return figures;
}

void Ledger::reset_peaks() {
  device_.reset_peaks();
  const std::lock_guard lock(mutex_);
  peak_bytes_ = bytes_;
  for (auto& [name, owner] : owners_) {
    owner.peak_bytes = owner.bytes;
    owner.bytes_at_peak = owner.bytes;
  }
}

void Ledger::book(void* address, std::uint64_t bytes, std::string_view owner) {
  const std::lock_guard lock(mutex_);
  auto found = owners_.find(owner);
  if (found == owners_.end()) found = owners_.emplace(owner, OwnerFigures{}).first;
  // An address that is handed out anew was given back without a note: the old entry is void.
  strike(address);
  entries_.emplace(address, Entry{bytes, &found->second});
  OwnerFigures& figures = found->second;
  figures.bytes += bytes;
  figures.peak_bytes = std::max(figures.peak_bytes, figures.bytes);
  bytes_ += bytes;
  if (bytes_ <= peak_bytes_) return;
  peak_bytes_ = bytes_;
  for (auto& [name, other] : owners_) other.bytes_at_peak = other.bytes;
}

void Ledger::strike(void* address) noexcept {
  const auto entry = entries_.find(address);
  if (entry == entries_.end()) return;
  entry->second.owner->bytes -= entry->second.bytes;
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

void Ledger::release(void* address) noexcept {
  {
    // First, since another thread may be given the same address at once.
    const std::lock_guard lock(mutex_);
    strike(address);
  }
  device_.release(address);
}

void Ledger::raise_if_refused(std::uint64_t bytes, std::string_view owner) {
  {
    const std::lock_guard lock(mutex_);
    if (forbidden_) {
      throw AllocationForbidden("'" + std::string(owner) + "' allocates " + std::to_string(bytes) +
                                " bytes of device memory after the warm-up");
    }
  }
  if (faults_.fails(bytes)) {
    throw OutOfDeviceMemory(MemoryFailure::injected, bytes, std::string(owner));
  }
}

}  // namespace skyfix
