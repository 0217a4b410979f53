#include "skyfix/memory/budgeted_device.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BudgetedDevice, TheCpuHasNoDeviceAndSaysThatABudgetIsIdle) {
  const BudgetedDevice plain = open_budgeted_device("cpu", {});
  EXPECT_EQ(plain.device, nullptr);
  EXPECT_EQ(plain.ledger, nullptr);
  EXPECT_EQ(plain.description, "cpu");
  EXPECT_TRUE(plain.notes.empty());
  const BudgetedDevice budgeted = open_budgeted_device("cpu", {.gpu_bytes = 1 << 30});
  EXPECT_THAT(budgeted.notes, ElementsAre(HasSubstr("no effect")));
}

TEST(BudgetedDevice, AnUnknownNameIsRefused) {
  try {
    open_budgeted_device("tpu", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_THAT(error.what(), HasSubstr("auto, cpu or cuda"));
  }
}

TEST(BudgetedDevice, WithoutAGpuAutoIsTheCpuAndCudaIsRefused) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU: bench/on_gpu_test.cc covers it";
  EXPECT_EQ(open_budgeted_device("auto", {}).device, nullptr);
  try {
    open_budgeted_device("cuda", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::no_gpu);
  }
}

}  // namespace
}  // namespace skyfix
