#include "skyfix/memory/ledger.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "skyfix/memory/owner_scope.h"

namespace skyfix {
namespace {

using testing::HasSubstr;

constexpr std::size_t kKiB = 1024;
static_assert(!std::is_copy_constructible_v<DeviceBuffer>);

TEST(Ledger, ABufferIsBookedWhileItLives) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  {
    const DeviceBuffer buffer = ledger.allocate(kKiB, "matcher");
    EXPECT_NE(buffer.data(), nullptr);
    EXPECT_EQ(buffer.as<float>(), buffer.data());
    EXPECT_EQ(buffer.bytes(), kKiB);
    EXPECT_EQ(ledger.figures().bytes, kKiB);
    EXPECT_EQ(ledger.figures().by_owner.at("matcher").bytes, kKiB);
    EXPECT_EQ(ledger.figures().device.allocated_bytes, kKiB);
  }
  EXPECT_EQ(ledger.figures().bytes, 0);
  EXPECT_EQ(ledger.figures().by_owner.at("matcher").bytes, 0);
  EXPECT_EQ(ledger.figures().by_owner.at("matcher").peak_bytes, kKiB);
  EXPECT_EQ(ledger.figures().device.allocated_bytes, 0);
}

TEST(Ledger, BuffersMove) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  DeviceBuffer first = ledger.allocate(kKiB, "a");
  void* const address = first.data();
  DeviceBuffer second = std::move(first);
  // NOLINTNEXTLINE(bugprone-use-after-move): a buffer moved from is empty
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(first.bytes(), 0);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.data(), address);
  DeviceBuffer third = ledger.allocate(2 * kKiB, "b");
  third = std::move(second);  // returns what it held
  EXPECT_EQ(third.data(), address);
  EXPECT_EQ(ledger.figures().by_owner.at("b").bytes, 0);
  DeviceBuffer& itself = third;
  third = std::move(itself);
  EXPECT_EQ(third.data(), address);
  third.reset();
  third.reset();
  EXPECT_EQ(third.data(), nullptr);
  EXPECT_EQ(third.bytes(), 0);
  EXPECT_EQ(ledger.figures().bytes, 0);
}

TEST(Ledger, NothingIsBookedForNothing) {
  const auto device = make_host_device();
  Ledger ledger(*device, {.probability = 1});
  EXPECT_EQ(ledger.allocate(0, "matcher").data(), nullptr);
  ledger.note_taken(nullptr, 5, "network");
  EXPECT_TRUE(ledger.figures().by_owner.empty());
  EXPECT_EQ(ledger.faults().seen(), 0);
}

TEST(Ledger, ThePeakIsExplainedByOwner) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  const DeviceBuffer weights = ledger.allocate(4 * kKiB, "weights");
  {
    const DeviceBuffer cache = ledger.allocate(2 * kKiB, "cache");
    const DeviceBuffer more = ledger.allocate(6 * kKiB, "matcher");  // the peak: 12
  }
  const DeviceBuffer cache = ledger.allocate(7 * kKiB, "cache");  // more than ever, but in all 11
  const LedgerFigures figures = ledger.figures();
  EXPECT_EQ(figures.peak_bytes, 12 * kKiB);
  EXPECT_EQ(figures.by_owner.at("weights").bytes_at_peak, 4 * kKiB);
  EXPECT_EQ(figures.by_owner.at("cache").bytes_at_peak, 2 * kKiB);
  EXPECT_EQ(figures.by_owner.at("cache").peak_bytes, 7 * kKiB);
  EXPECT_EQ(figures.by_owner.at("matcher").bytes_at_peak, 6 * kKiB);
}

TEST(Ledger, ThePeakIsTheFirstOfEqualOnes) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  ledger.allocate(kKiB, "first").reset();
  ledger.allocate(kKiB, "second").reset();
  EXPECT_EQ(ledger.figures().by_owner.at("first").bytes_at_peak, kKiB);
  EXPECT_EQ(ledger.figures().by_owner.at("second").bytes_at_peak, 0);
}

TEST(Ledger, PeaksStartFromTheCurrentValues) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  const DeviceBuffer kept = ledger.allocate(kKiB, "weights");
  ledger.allocate(4 * kKiB, "matcher").reset();
  device->trim();
  ledger.reset_peaks();
  const LedgerFigures figures = ledger.figures();
  EXPECT_EQ(figures.peak_bytes, kKiB);
  EXPECT_EQ(figures.by_owner.at("weights").bytes_at_peak, kKiB);
  EXPECT_EQ(figures.by_owner.at("matcher").peak_bytes, 0);
  EXPECT_EQ(figures.by_owner.at("matcher").bytes_at_peak, 0);
  EXPECT_EQ(figures.device.peak_allocated_bytes, kKiB);
  EXPECT_EQ(figures.device.peak_reserved_bytes, kKiB);
}

TEST(Ledger, TheOwnerIsNamedWhenTheDeviceIsFull) {
  const auto device = make_host_device(4 * kKiB);
  Ledger ledger(*device);
  const DeviceBuffer kept = ledger.allocate(3 * kKiB, "weights");
  try {
    ledger.allocate(2 * kKiB, "matcher");
    FAIL() << "beyond the cap";
  } catch (const OutOfDeviceMemory& failure) {
    EXPECT_EQ(failure.failure(), MemoryFailure::allocator);
    EXPECT_EQ(failure.bytes(), 2 * kKiB);
    EXPECT_EQ(failure.owner(), "matcher");
  }
  EXPECT_EQ(ledger.figures().bytes, 3 * kKiB);
  EXPECT_EQ(ledger.figures().peak_bytes, 3 * kKiB);
}

TEST(Ledger, InjectedFaultsNeverReachTheDevice) {
  const auto device = make_host_device();
  Ledger ledger(*device, {.nth = 2});
  const DeviceBuffer first = ledger.allocate(kKiB, "matcher");
  try {
    ledger.allocate(2 * kKiB, "matcher");
    FAIL() << "no fault";
  } catch (const OutOfDeviceMemory& failure) {
    EXPECT_EQ(failure.failure(), MemoryFailure::injected);
    EXPECT_EQ(failure.bytes(), 2 * kKiB);
    EXPECT_EQ(failure.owner(), "matcher");
  }
  EXPECT_EQ(device->figures().peak_allocated_bytes, kKiB);
  const DeviceBuffer third = ledger.allocate(2 * kKiB, "matcher");
  EXPECT_EQ(ledger.faults().injected(), 1);
  EXPECT_EQ(ledger.figures().bytes, 3 * kKiB);
}

TEST(Ledger, ForeignMemoryIsBookedByItsTrace) {
  const auto device = make_host_device();
  Ledger ledger(*device, {.nth = 3});
  int memory[3];
  ledger.note_taken(&memory[0], 100, "network");
  ledger.note_taken(&memory[1], 50, "network");
  EXPECT_THROW(ledger.note_taken(&memory[2], 10, "network"), OutOfDeviceMemory);
  EXPECT_EQ(ledger.figures().by_owner.at("network").bytes, 150);
  EXPECT_EQ(ledger.figures().device.allocated_bytes, 0);
  ledger.note_released(&memory[0]);
  ledger.note_released(&memory[2]);  // never booked
  EXPECT_EQ(ledger.figures().bytes, 50);
  ledger.note_taken(&memory[1], 70, "head");  // its return was not noted
  EXPECT_EQ(ledger.figures().by_owner.at("network").bytes, 0);
  EXPECT_EQ(ledger.figures().bytes, 70);
}

TEST(Ledger, AnAllocationAfterTheWarmUpNamesItsOwner) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  DeviceBuffer warm = ledger.allocate(kKiB, "matcher");
  ledger.forbid_allocations(true);
  int memory = 0;
  for (const auto& attempt :
       {std::function<void()>([&] { ledger.allocate(8, "late owner"); }),
        std::function<void()>([&] { ledger.note_taken(&memory, 8, "late owner"); })}) {
    try {
      attempt();
      ADD_FAILURE() << "was allowed";
    } catch (const std::logic_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("'late owner'"));
    }
  }
  warm.reset();  // giving back is allowed
  EXPECT_EQ(ledger.figures().bytes, 0);
  ledger.forbid_allocations(false);
  EXPECT_EQ(ledger.allocate(kKiB, "matcher").bytes(), kKiB);
}

// A slow, plain account of the same: all owners after every step.
struct Account {
  std::map<std::string, std::uint64_t> now, peak, at_peak;
  std::uint64_t sum = 0, peak_sum = 0;

  void add(const std::string& owner, std::int64_t bytes) {
    now[owner] += bytes;
    sum += bytes;
    peak[owner] = std::max(peak[owner], now[owner]);
    if (sum <= peak_sum) return;
    peak_sum = sum;
    at_peak = now;
  }
  void expect_equal(const LedgerFigures& figures) {
    ASSERT_EQ(figures.bytes, sum);
    ASSERT_EQ(figures.peak_bytes, peak_sum);
    ASSERT_EQ(figures.by_owner.size(), now.size());
    for (const auto& [name, owner] : figures.by_owner) {
      ASSERT_EQ(owner.bytes, now[name]) << name;
      ASSERT_EQ(owner.peak_bytes, peak[name]) << name;
      ASSERT_EQ(owner.bytes_at_peak, at_peak[name]) << name;
    }
  }
};

// Requests of a fixed course, with the given faults; every failure leaves the account as it was.
void follow_the_account(const FaultPlan& faults, std::uint64_t cap, std::uint64_t& seen) {
  const auto device = make_host_device(cap);
  Ledger ledger(*device, faults);
  Account account;
  std::mt19937 random(11);
  std::vector<std::pair<DeviceBuffer, std::string>> held;
  for (int i = 0; i < 60; ++i) {
    const std::string owner(1, static_cast<char>('a' + random() % 3));
    const std::size_t bytes = 1 + random() % 5000;
    const std::size_t victim = random();
    if (i % 3 == 2 && !held.empty()) {
      std::swap(held[victim % held.size()], held.back());
      account.add(held.back().second, -static_cast<std::int64_t>(held.back().first.bytes()));
      held.pop_back();
    } else {
      try {
        held.emplace_back(ledger.allocate(bytes, owner), owner);
        account.add(owner, static_cast<std::int64_t>(bytes));
      } catch (const OutOfDeviceMemory& failure) {
        ASSERT_EQ(failure.owner(), owner);
      }
    }
    account.expect_equal(ledger.figures());
    if (testing::Test::HasFatalFailure()) return;
  }
  seen = ledger.faults().seen();
  held.clear();
  ASSERT_EQ(ledger.figures().bytes, 0);
  ASSERT_EQ(device->figures().allocated_bytes, 0);
}

TEST(Ledger, TheAccountHoldsWhicheverAllocationFails) {
  std::uint64_t allocations = 0;
  follow_the_account({}, 0, allocations);
  ASSERT_EQ(allocations, 40);
  for (std::uint64_t n = 1; n <= allocations; ++n) {
    std::uint64_t seen = 0;
    follow_the_account({.nth = n}, 0, seen);
    ASSERT_EQ(seen, allocations) << "fault " << n;
  }
  std::uint64_t seen = 0;
  follow_the_account({.probability = 0.3}, 20 * kKiB, seen);
  EXPECT_GE(seen, allocations);
}

TEST(Ledger, ThreadsShareIt) {
  const auto device = make_host_device(64 * kKiB);
  Ledger ledger(*device, {.probability = 0.05});
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<DeviceBuffer> held;
    for (int i = 0; i < 1000; ++i) {
      try {
        held.push_back(ledger.allocate(1 + random() % 8000, seed % 2 ? "odd" : "even"));
        const std::vector<char> fill(held.back().bytes(), static_cast<char>(seed));
        device->upload(held.back().data(), fill.data(), fill.size());
      } catch (const OutOfDeviceMemory&) {
        held.clear();
      }
      if (i % 100 == 0) (void)ledger.figures();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  const LedgerFigures figures = ledger.figures();
  EXPECT_EQ(figures.bytes, 0);
  EXPECT_EQ(figures.device.allocated_bytes, 0);
  EXPECT_EQ(figures.by_owner.at("odd").bytes_at_peak + figures.by_owner.at("even").bytes_at_peak,
            figures.peak_bytes);
  EXPECT_EQ(ledger.faults().seen(), 4000);
}

// A device on which others allocate too.
class SharedDevice : public Device {
 public:
  DeviceKind kind() const override { return own_->kind(); }
  std::string name() const override { return own_->name(); }
  void* allocate(std::size_t bytes) override {
    void* address = own_->allocate(bytes);
    if (watcher_ != nullptr) watcher_->taken(address, bytes);
    return address;
  }
  void release(void* address) noexcept override {
    if (watcher_ != nullptr) watcher_->given_back(address);
    own_->release(address);
  }
  void upload(void* to, const void* from, std::size_t n) override { own_->upload(to, from, n); }
  void download(void* to, const void* from, std::size_t n) override { own_->download(to, from, n); }
  void synchronize() override {}
  void trim() override {}
  void set_cap(std::uint64_t bytes) override { own_->set_cap(bytes); }
  DeviceFigures figures() const override { return own_->figures(); }
  void reset_peaks() override { own_->reset_peaks(); }
  void watch(AllocationWatcher* watcher) override { watcher_ = watcher; }
  void unwatch(AllocationWatcher* watcher) override {
    if (watcher_ == watcher) watcher_ = nullptr;
  }
  bool watched() const { return watcher_ != nullptr; }

 private:
  std::unique_ptr<Device> own_ = make_host_device();
  AllocationWatcher* watcher_ = nullptr;
};

TEST(Ledger, BooksWhatOthersTakeUnderTheOwnerInScope) {
  SharedDevice device;
  {
    Ledger ledger(device);
    const auto bytes_of = [&](const std::string& owner) {
      const auto figures = ledger.figures();
      return figures.by_owner.contains(owner) ? figures.by_owner.at(owner).bytes : 0;
    };
    void* of_network = nullptr;
    {
      const OwnerScope owner("network");
      of_network = device.allocate(kKiB);
      // A booking of our own counts once, and is its owner's.
      const DeviceBuffer buffer = ledger.allocate(2 * kKiB, "matcher");
      EXPECT_EQ(bytes_of("network"), kKiB);
      EXPECT_EQ(bytes_of("matcher"), 2 * kKiB);
      EXPECT_EQ(ledger.figures().bytes, 3 * kKiB);
    }
    void* of_nobody = device.allocate(kKiB);
    EXPECT_EQ(ledger.figures().bytes, kKiB);
    device.release(of_nobody);
    device.release(of_network);  // outside the scope
    EXPECT_EQ(bytes_of("network"), 0);
    EXPECT_EQ(ledger.figures().by_owner.at("network").peak_bytes, kKiB);
    EXPECT_TRUE(device.watched());
  }
  EXPECT_FALSE(device.watched());
}

}  // namespace
}  // namespace skyfix
