// Host memory that stands in for a device.

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>

#include "skyfix/memory/device.h"

namespace skyfix {
namespace {

constexpr std::size_t kAlignment = 256;
// A free block serves requests down to this part less than its size. More would hide memory in
// blocks that are mostly empty; less would find no block again after small changes of shape.
constexpr std::size_t kSlackParts = 8;
// No object can be larger, and rounding up to the alignment stays in range.
constexpr std::size_t kLargest = PTRDIFF_MAX - kAlignment;

std::size_t round_up(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

// Under the address sanitizer a block is accessible only where it is handed out: writing past the
// end or after release is found, although the block stays ours.
void hide(void* address, std::size_t bytes) { ASAN_POISON_MEMORY_REGION(address, bytes); }
void show(void* address, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(address, bytes); }

class HostDevice final : public Device {
 public:
  explicit HostDevice(std::uint64_t cap_bytes) { figures_.cap_bytes = cap_bytes; }
  ~HostDevice() override {
    drop_free_blocks();
    assert(taken_.empty() && "memory outlives its device");
  }
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string name() const override { return "host memory"; }

  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    if (bytes > kLargest) throw OutOfDeviceMemory(MemoryFailure::allocator, bytes, {});
    const std::lock_guard lock(mutex_);
    const Blocks::iterator block = take_block(round_up(bytes));
    block->used = round_up(bytes);
    show(block->address, bytes);
    figures_.allocated_bytes += block->used;
    figures_.peak_allocated_bytes =
        std::max(figures_.peak_allocated_bytes, figures_.allocated_bytes);
    return block->address;
  }

  void release(void* address) noexcept override {
    if (address == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = by_address_.find(address);
    assert(found != by_address_.end() && found->second->used > 0 &&
           "not handed out by this device");
    const Blocks::iterator block = found->second;
    figures_.allocated_bytes -= block->used;
    block->used = 0;
    hide(block->address, block->size);
    free_.splice(free_.begin(), taken_, block);
  }

  void upload(void* device, const void* host, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
  }
  void download(void* host, const void* device, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }
  void synchronize() override {}

  void trim() override {
    const std::lock_guard lock(mutex_);
    drop_free_blocks();
  }

  void set_cap(std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    figures_.cap_bytes = bytes;
    if (!within_cap(0)) drop_free_blocks();
  }

  DeviceFigures figures() const override {
    const std::lock_guard lock(mutex_);
    DeviceFigures figures = figures_;
    figures.used_bytes = figures.reserved_bytes;  // there is no context
    return figures;
  }

  void reset_peaks() override {
    const std::lock_guard lock(mutex_);
    figures_.peak_allocated_bytes = figures_.allocated_bytes;
    figures_.peak_reserved_bytes = figures_.reserved_bytes;
  }

 private:
  struct Block {
    void* address;
    std::size_t size;
    std::size_t used;  // of it, by the one who has it; 0 = free
  };
  using Blocks = std::list<Block>;

  // All below: mutex held.
  Blocks::iterator take_block(std::size_t size) {
    const Blocks::iterator block = find_free_block(size);
    if (block != free_.end()) {
      taken_.splice(taken_.begin(), free_, block);
      return block;
    }
    if (!within_cap(size)) drop_free_blocks();
    if (!within_cap(size)) throw OutOfDeviceMemory(MemoryFailure::allocator, size, {});
    return new_block(size);
  }

  // The smallest that is large enough, but not much too large.
  Blocks::iterator find_free_block(std::size_t size) {
    auto best = free_.end();
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      if (block->size < size || block->size - size > block->size / kSlackParts) continue;
      if (best == free_.end() || block->size < best->size) best = block;
    }
    return best;
  }

  Blocks::iterator new_block(std::size_t size) {
    Blocks fresh{{nullptr, size, 0}};
    void*& address = fresh.front().address;
    address = ::operator new (size, std::align_val_t{kAlignment}, std::nothrow);
    if (address == nullptr) {  // the machine has less than the cap
      drop_free_blocks();
      address = ::operator new (size, std::align_val_t{kAlignment}, std::nothrow);
    }
    if (address == nullptr) throw OutOfDeviceMemory(MemoryFailure::allocator, size, {});
    hide(address, size);
    try {
      by_address_.emplace(address, fresh.begin());
    } catch (...) {
      give_back(fresh.front());
      throw;
    }
    taken_.splice(taken_.begin(), fresh);
    figures_.reserved_bytes += size;
    figures_.peak_reserved_bytes = std::max(figures_.peak_reserved_bytes, figures_.reserved_bytes);
    return taken_.begin();
  }

  void drop_free_blocks() {
    for (const Block& block : free_) {
      figures_.reserved_bytes -= block.size;
      by_address_.erase(block.address);
      give_back(block);
    }
    free_.clear();
  }

  static void give_back(const Block& block) {
    show(block.address, block.size);
    ::operator delete (block.address, std::align_val_t{kAlignment});
  }

  bool within_cap(std::size_t more) const {
    return figures_.cap_bytes == 0 || (figures_.reserved_bytes <= figures_.cap_bytes &&
                                       more <= figures_.cap_bytes - figures_.reserved_bytes);
  }

  mutable std::mutex mutex_;
  Blocks taken_;
  Blocks free_;
  std::unordered_map<void*, Blocks::iterator> by_address_;
  DeviceFigures figures_;
};

}  // namespace

std::unique_ptr<Device> make_host_device(std::uint64_t cap_bytes) {
  return std::make_unique<HostDevice>(cap_bytes);
}

}  // namespace skyfix
