#include "skyfix/memory/device.h"

#include <gmock/gmock.h>

#include <array>
#include <set>
#include <string_view>

namespace skyfix {
namespace {

constexpr std::array kFailures = {MemoryFailure::allocator,      MemoryFailure::library_workspace,
                                  MemoryFailure::module_loading, MemoryFailure::graph,
                                  MemoryFailure::pinned,         MemoryFailure::injected};

TEST(Device, EveryNameIsItsOwn) {
  std::set<std::string_view> names;
  for (const MemoryFailure failure : kFailures) names.insert(memory_failure_name(failure));
  EXPECT_EQ(names.size(), kFailures.size());
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(device_kind_name(DeviceKind::cpu), "cpu");
  EXPECT_EQ(device_kind_name(DeviceKind::cuda), "cuda");
}

TEST(Device, OutOfMemorySaysWhatIsKnown) {
  const OutOfDeviceMemory known(MemoryFailure::graph, 4096, "matcher");
  EXPECT_EQ(known.failure(), MemoryFailure::graph);
  EXPECT_EQ(known.bytes(), 4096);
  EXPECT_EQ(known.owner(), "matcher");
  EXPECT_STREQ(known.what(), "out of device memory (graph): 4096 bytes for 'matcher'");
  EXPECT_STREQ(OutOfDeviceMemory(MemoryFailure::pinned, 0, "frames").what(),
               "out of device memory (pinned): for 'frames'");
  EXPECT_STREQ(OutOfDeviceMemory(MemoryFailure::allocator, 7, "").what(),
               "out of device memory (allocator): 7 bytes");
  EXPECT_STREQ(OutOfDeviceMemory(MemoryFailure::allocator, 0, "").what(),
               "out of device memory (allocator)");
}

TEST(Device, OutOfMemoryIsABadAllocButADeviceFailureIsNot) {
  EXPECT_THROW(throw OutOfDeviceMemory(MemoryFailure::allocator, 1, ""), std::bad_alloc);
  EXPECT_THROW(throw DeviceFailure("illegal address"), std::runtime_error);
}

}  // namespace
}  // namespace skyfix
