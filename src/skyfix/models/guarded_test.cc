#include "skyfix/models/guarded.h"

#include <gmock/gmock.h>

namespace skyfix {
namespace {

struct Network {
  int id = 0;
};

struct Cache : ReleasableCache {
  double rebuild_cost_ms() const override { return 1; }
  std::uint64_t release_unpinned() override { return std::exchange(bytes, 0); }
  std::uint64_t bytes = 7;
};

OutOfDeviceMemory lack() { return {MemoryFailure::allocator, 1, "test"}; }

TEST(Guarded, GivesUpCachesThenAsksTheTwinOnTheCpu) {
  const auto device = make_host_device();
  Cache cache;
  int made = 0;
  const auto make_twin = [&] {
    ++made;
    return std::make_shared<const Network>(Network{2});
  };
  Guarded<Network> guarded(std::make_shared<const Network>(Network{1}), make_twin, device.get(),
                           {&cache});
  for (int round = 0; round < 2; ++round) {
    RetryReport report;
    const int answer = guarded.run(report, [](const Network& network, const Effort& effort) {
      if (!effort.on_cpu) throw lack();
      return network.id;
    });
    EXPECT_EQ(answer, 2);
    EXPECT_EQ(report.events.back().step, RetryStep::cpu);
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(cache.bytes, 0);
  RetryReport report;
  const auto id = [](const Network& network, const Effort&) { return network.id; };
  EXPECT_EQ(guarded.run(report, id), 1);  // the next one starts afresh
  EXPECT_TRUE(report.events.empty());
}

TEST(Guarded, WithoutADeviceNothingIsTriedAgain) {
  Guarded<Network> guarded(std::make_shared<const Network>(Network{1}), {}, nullptr, {});
  RetryReport report;
  EXPECT_THROW(guarded.run(report, [](const Network&, const Effort&) -> int { throw lack(); }),
               OutOfDeviceMemory);
}

}  // namespace
}  // namespace skyfix
