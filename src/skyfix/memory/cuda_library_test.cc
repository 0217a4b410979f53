#include "skyfix/memory/cuda_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

using testing::HasSubstr;

// Both kinds of machine run this: one of the two branches holds on each.
TEST(CudaLibrary, EitherWorksOrSaysWhyNot) {
  const CudaLibrary& library = CudaLibrary::instance();
  EXPECT_EQ(library.loaded(), library.why_not().empty());
  EXPECT_EQ(probe_cuda().has_value(), library.symbol("skyfix_cuda_memory") != nullptr);
  if (!library.loaded()) {
    EXPECT_FALSE(why_no_gpu().empty());
  }
}

TEST(CudaLibrary, WithoutAGpuOpeningOneNamesWhatIsMissing) {
  const std::string why = why_no_gpu();
  if (why.empty()) GTEST_SKIP() << "this machine has a GPU";
  try {
    open_cuda_device();
    FAIL() << "opened a GPU that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::no_gpu);
    EXPECT_THAT(error.message(), HasSubstr(why));
    EXPECT_THAT(error.message(), HasSubstr("--device cpu"));
  }
}

TEST(CudaDevice, CountsItsMemoryAndKeepsItsCap) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << why_no_gpu();
  const CudaDevice opened = open_cuda_device();
  Device& device = *opened.device;
  constexpr std::uint64_t kMiB = 1 << 20;
  device.set_cap(512 * kMiB);
  void* held = device.allocate(256 * kMiB);
  EXPECT_EQ(device.figures().allocated_bytes, 256 * kMiB);
  EXPECT_LE(device.figures().reserved_bytes, 512 * kMiB);
  EXPECT_THROW(device.allocate(400 * kMiB), OutOfDeviceMemory);
  // What failed leaves nothing behind: the rest is still to be had.
  void* rest = device.allocate(200 * kMiB);
  EXPECT_LE(device.figures().peak_reserved_bytes, 512 * kMiB);
  device.release(rest);
  device.release(held);
  device.trim();
  EXPECT_EQ(device.figures().reserved_bytes, 0u);
}

TEST(CudaDevice, CopiesBothWays) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << why_no_gpu();
  const CudaDevice opened = open_cuda_device();
  const std::string text = "there and back again";
  void* there = opened.device->allocate(text.size());
  opened.device->upload(there, text.data(), text.size());
  std::string back(text.size(), '?');
  opened.device->download(back.data(), there, back.size());
  EXPECT_EQ(back, text);
  opened.device->release(there);
}

TEST(CudaDevice, MeasuresItsContext) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << why_no_gpu();
  const CudaDevice opened = open_cuda_device();
  EXPECT_GT(opened.facts.card.total_bytes, 1u << 30);
  EXPECT_LT(opened.facts.context_bytes, 3ull << 30);
  if (std::getenv("PYTORCH_ALLOC_CONF") == nullptr &&
      std::getenv("PYTORCH_CUDA_ALLOC_CONF") == nullptr) {
    EXPECT_EQ(opened.facts.expandable_segments, opened.facts.card.virtual_memory);
  }
}

}  // namespace
}  // namespace skyfix
