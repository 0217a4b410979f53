#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "skyfix/memory/device.h"

namespace skyfix {
namespace {

constexpr std::size_t kKiB = 1024;

TEST(HostDevice, HandsOutAlignedMemoryThatKeepsWhatIsUploaded) {
  const auto device = make_host_device();
  EXPECT_EQ(device->kind(), DeviceKind::cpu);
  std::vector<std::pair<void*, std::vector<unsigned char>>> blocks;
  for (const std::size_t bytes : {1u, 255u, 256u, 257u, 5000u}) {
    void* address = device->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 256, 0);
    blocks.emplace_back(address, std::vector<unsigned char>(bytes, bytes % 251));
    device->upload(address, blocks.back().second.data(), bytes);
  }
  device->synchronize();
  for (const auto& [address, bytes] : blocks) {
    std::vector<unsigned char> read(bytes.size());
    device->download(read.data(), address, read.size());
    EXPECT_EQ(read, bytes);
    device->release(address);
  }
}

TEST(HostDevice, NothingIsAllocatedForNothing) {
  const auto device = make_host_device();
  EXPECT_EQ(device->allocate(0), nullptr);
  device->release(nullptr);
  device->upload(nullptr, nullptr, 0);
  device->download(nullptr, nullptr, 0);
  EXPECT_EQ(device->figures().peak_reserved_bytes, 0);
}

TEST(HostDevice, FreedBlocksStayReservedUntilTrimmed) {
  const auto device = make_host_device();
  void* first = device->allocate(kKiB);
  device->release(first);
  EXPECT_EQ(device->figures().allocated_bytes, 0);
  EXPECT_EQ(device->figures().reserved_bytes, kKiB);
  EXPECT_EQ(device->figures().used_bytes, kKiB);
  device->trim();
  EXPECT_EQ(device->figures().reserved_bytes, 0);
  EXPECT_EQ(device->figures().peak_reserved_bytes, kKiB);
}

TEST(HostDevice, AFittingFreeBlockIsUsedAgain) {
  const auto device = make_host_device();
  void* large = device->allocate(64 * kKiB);
  void* fitting = device->allocate(16 * kKiB);
  device->release(large);
  device->release(fitting);
  void* again = device->allocate(15 * kKiB);
  EXPECT_EQ(again, fitting);
  EXPECT_EQ(device->figures().reserved_bytes, 80 * kKiB);
  EXPECT_EQ(device->figures().allocated_bytes, 15 * kKiB);
  void* small = device->allocate(kKiB);  // the large block would be wasted on it
  EXPECT_EQ(device->figures().reserved_bytes, 81 * kKiB);
  device->release(again);
  device->release(small);
}

TEST(HostDevice, TheSmallestFittingFreeBlockIsUsed) {
  const auto device = make_host_device();
  void* loose = device->allocate(17 * kKiB);
  void* tight = device->allocate(16 * kKiB);
  device->release(tight);
  device->release(loose);
  EXPECT_EQ(device->allocate(16 * kKiB), tight);
  EXPECT_EQ(device->allocate(16 * kKiB), loose);
  device->release(tight);
  device->release(loose);
}

TEST(HostDeviceDeathTest, WhatIsNotOutCannotBeReleased) {
  const auto device = make_host_device();
  void* address = device->allocate(kKiB);
  device->release(address);
  EXPECT_DEATH(device->release(address), "not handed out by this device");
  int other = 0;
  EXPECT_DEATH(device->release(&other), "not handed out by this device");
}

TEST(HostDevice, TheCapHoldsAndFreeBlocksGoFirst) {
  const auto device = make_host_device(10 * kKiB);
  void* kept = device->allocate(2 * kKiB);
  device->release(device->allocate(4 * kKiB));
  void* other = device->allocate(8 * kKiB);  // only without the 4 KiB that are free
  EXPECT_EQ(device->figures().reserved_bytes, 10 * kKiB);
  try {
    device->allocate(kKiB);
    FAIL() << "beyond the cap";
  } catch (const OutOfDeviceMemory& failure) {
    EXPECT_EQ(failure.failure(), MemoryFailure::allocator);
    EXPECT_EQ(failure.bytes(), kKiB);
    EXPECT_EQ(failure.owner(), "");
  }
  EXPECT_EQ(device->figures().allocated_bytes, 10 * kKiB);
  EXPECT_EQ(device->figures().peak_reserved_bytes, 10 * kKiB);
  device->release(kept);
  device->release(other);
}

TEST(HostDevice, ASmallerCapDropsWhatIsFreeAndLeavesTheRest) {
  const auto device = make_host_device();
  void* kept = device->allocate(4 * kKiB);
  device->release(device->allocate(16 * kKiB));
  device->set_cap(2 * kKiB);
  EXPECT_EQ(device->figures().reserved_bytes, 4 * kKiB);
  EXPECT_EQ(device->figures().cap_bytes, 2 * kKiB);
  EXPECT_THROW(device->allocate(1), OutOfDeviceMemory);
  device->set_cap(0);
  void* more = device->allocate(1);
  device->release(more);
  device->release(kept);
}

TEST(HostDevice, SizesThatNoMachineHasAreOutOfMemory) {
  for (const std::uint64_t cap : {std::uint64_t{0}, std::uint64_t{kKiB}, UINT64_MAX}) {
    const auto device = make_host_device(cap);
    EXPECT_THROW(device->allocate(std::numeric_limits<std::size_t>::max()), OutOfDeviceMemory);
    EXPECT_THROW(device->allocate(std::size_t{1} << 63), OutOfDeviceMemory);
    EXPECT_EQ(device->figures().reserved_bytes, 0);
  }
}

TEST(HostDevice, PeaksStartFromTheCurrentValues) {
  const auto device = make_host_device();
  void* kept = device->allocate(kKiB);
  device->release(device->allocate(8 * kKiB));
  EXPECT_EQ(device->figures().peak_allocated_bytes, 9 * kKiB);
  device->trim();
  device->reset_peaks();
  EXPECT_EQ(device->figures().peak_allocated_bytes, kKiB);
  EXPECT_EQ(device->figures().peak_reserved_bytes, kKiB);
  device->release(kept);
}

// Random requests: no block overlaps another or loses what is in it, and the figures are those of
// the blocks that are out.
TEST(HostDevice, RandomUseAddsUp) {
  constexpr std::uint64_t kCap = 256 * kKiB;
  const auto device = make_host_device(kCap);
  std::mt19937_64 random(3);
  std::vector<std::pair<unsigned char*, std::size_t>> out;
  std::uint64_t requested = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      const std::size_t bytes = 256 * (1 + random() % 100);
      try {
        auto* address = static_cast<unsigned char*>(device->allocate(bytes));
        std::memset(address, reinterpret_cast<std::uintptr_t>(address) / 256 % 255, bytes);
        out.emplace_back(address, bytes);
        requested += bytes;
      } catch (const OutOfDeviceMemory&) {
        ++refused;
        ASSERT_GT(bytes + requested + requested / 7, kCap) << "refused without need";
      }
    } else if (!out.empty()) {
      std::swap(out[random() % out.size()], out.back());
      const auto [address, bytes] = out.back();
      const auto mark = reinterpret_cast<std::uintptr_t>(address) / 256 % 255;
      for (std::size_t b = 0; b < bytes; ++b) ASSERT_EQ(address[b], mark);
      device->release(address);
      out.pop_back();
      requested -= bytes;
    }
    if (i % 500 == 0) device->trim();
    ASSERT_EQ(device->figures().allocated_bytes, requested);
    ASSERT_LE(device->figures().reserved_bytes, kCap);
    ASSERT_GE(device->figures().reserved_bytes, requested);
  }
  EXPECT_GT(refused, 100);
  for (const auto& [address, bytes] : out) device->release(address);
  device->trim();
  EXPECT_EQ(device->figures().reserved_bytes, 0);
}

TEST(HostDevice, ThreadsShareIt) {
  const auto device = make_host_device(64 * kKiB);
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t bytes = 1 + random() % (20 * kKiB);
      try {
        void* address = device->allocate(bytes);
        std::memset(address, static_cast<int>(seed), bytes);
        device->release(address);
      } catch (const OutOfDeviceMemory&) {
        device->trim();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device->figures().allocated_bytes, 0);
  EXPECT_LE(device->figures().peak_reserved_bytes, 64 * kKiB);
}

}  // namespace
}  // namespace skyfix
