#include "skyfix/match/match_workspace.h"

#include <gtest/gtest.h>

namespace skyfix::match {
namespace {

TEST(GrowingBuffer, TakesTheFirstSizeAndThenGrowsInSteps) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  GrowingBuffer buffer("test");
  EXPECT_EQ(buffer.at_least(0, ledger), nullptr);
  const std::byte* first = buffer.at_least(10'001, ledger);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(ledger.figures().bytes, 10'001u);
  EXPECT_EQ(buffer.at_least(9'000, ledger), first);
  buffer.at_least(10'002, ledger);
  EXPECT_EQ(ledger.figures().bytes, GrowingBuffer::capacity_bound(10'002));
  const std::uint64_t seen = ledger.faults().seen();
  buffer.at_least(10'200, ledger);
  EXPECT_EQ(ledger.faults().seen(), seen) << "the step leaves room";
  EXPECT_EQ(ledger.figures().peak_bytes, ledger.figures().bytes) << "never two at once";
  EXPECT_EQ(buffer.release(), GrowingBuffer::capacity_bound(10'002));
  EXPECT_EQ(ledger.figures().bytes, 0u);
}

TEST(GrowingBuffer, IsEmptyWhenItCannotGrow) {
  const auto device = make_host_device(4096);
  Ledger ledger(*device);
  GrowingBuffer buffer("test");
  buffer.at_least(4000, ledger);
  EXPECT_THROW(buffer.at_least(5000, ledger), OutOfDeviceMemory);
  EXPECT_EQ(ledger.figures().bytes, 0u);
  EXPECT_NE(buffer.at_least(4096, ledger), nullptr);
}

TEST(GrowingBuffer, TheBoundIsAnEighthAtMost) {
  EXPECT_EQ(GrowingBuffer::capacity_bound(0), 0u);
  EXPECT_EQ(GrowingBuffer::capacity_bound(1), 256u);
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40); bytes = bytes * 5 / 4 + 1) {
    const std::size_t bound = GrowingBuffer::capacity_bound(bytes);
    EXPECT_GE(bound, bytes);
    EXPECT_LE(bound, bytes + std::max<std::size_t>(255, bytes / 8)) << bytes;
    EXPECT_EQ(GrowingBuffer::capacity_bound(bound), bound) << "a step's end stays where it is";
  }
}

TEST(MatchWorkspace, ReleasesEverything) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  MatchWorkspace workspace;
  workspace.query.at_least(1000, ledger);
  workspace.keys.at_least(2000, ledger);
  workspace.references.at_least(3000, ledger);
  const LedgerFigures figures = ledger.figures();
  EXPECT_EQ(figures.by_owner.at(std::string(kQueryOwner)).bytes, 1000u);
  EXPECT_EQ(figures.by_owner.at(std::string(kMatcherOwner)).bytes, 2000u);
  EXPECT_EQ(figures.by_owner.at(std::string(kReferenceOwner)).bytes, 3000u);
  EXPECT_EQ(workspace.release_unpinned(), 6000u);
  EXPECT_EQ(workspace.release_unpinned(), 0u);
  EXPECT_EQ(ledger.figures().bytes, 0u);
}

}  // namespace
}  // namespace skyfix::match
