// The promise of nearest_neighbours_extra_bytes, checked by counting what is allocated.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "skyfix/base/parallel.h"
#include "skyfix/match/mutual_nearest.h"
#include "skyfix/match/testing.h"

namespace {

std::atomic<std::size_t> allocated{
    0};  // bytes asked for, never reduced: an upper bound of the peak

void* counted(std::size_t size, std::size_t alignment) {
  allocated += size;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void* counted_or_null(std::size_t size, std::size_t alignment) noexcept {
  try {
    return counted(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_or_null(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size, alignof(std::max_align_t));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace skyfix {
namespace {

TEST(ExtraBytes, AreWhatIsAllocated) {
  std::mt19937 random(14);
  for (const auto [n, m, d] :
       {std::array{2000, 861, 24}, std::array{1000, 3000, 128}, std::array{3, 70, 600}}) {
    const testing::Descriptors query = testing::normal_rows(n, d, random);
    const testing::Descriptors map = testing::normal_rows(m, d, random);
    for (std::size_t threads : {1, 2, 4}) {
      set_thread_count(threads);
      nearest_neighbours(query.view(), map.view());  // starts the pool's threads
      const std::size_t before = allocated;
      const NearestNeighbours found = nearest_neighbours(query.view(), map.view());
      const std::size_t result = (n + m) * (sizeof(std::int64_t) + sizeof(float));
      const std::size_t used = allocated - before - result;
      const std::size_t promised = nearest_neighbours_extra_bytes(n, m, d);
      EXPECT_LE(used, promised + 1024) << n << "x" << m << "x" << d << " threads " << threads;
      // With more threads, one may come too late to get a task and needs no memory then.
      if (threads == 1) {
        EXPECT_GE(used, promised * 9 / 10) << n << "x" << m << "x" << d;
      }
    }
  }
  set_thread_count(0);
}

TEST(ExtraBytes, DoNotGrowWithTheSides) {
  const std::size_t small = nearest_neighbours_extra_bytes(10'000, 10'000, 128);
  const std::size_t large = nearest_neighbours_extra_bytes(1'000'000, 1'000'000, 128);
  EXPECT_LT(large, small + small / 4);
  EXPECT_LT(large, thread_count() * 200'000 + 600'000);
  EXPECT_EQ(nearest_neighbours_extra_bytes(0, 100, 24), 0u);
}

}  // namespace
}  // namespace skyfix
