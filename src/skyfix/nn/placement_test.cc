#include "skyfix/nn/placement.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

TEST(Placement, NamesAndPrecisionsCorrespond) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    EXPECT_EQ(precision_from_name(precision_name(precision), "--precision"), precision);
  }
  EXPECT_EQ(precision_name(Precision::bf16), "bf16");
}

TEST(Placement, AnotherNameIsABadOption) {
  try {
    precision_from_name("fp64", "--precision");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_EQ(error.message(), "--precision fp64 is not one of fp32, bf16, fp16");
  }
  try {
    precision_from_name("fp64", "--precision", "auto");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "--precision fp64 is not one of auto, fp32, bf16, fp16");
  }
}

}  // namespace
}  // namespace skyfix
