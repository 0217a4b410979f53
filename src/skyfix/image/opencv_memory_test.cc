#include "skyfix/image/opencv_memory.h"

#include <gtest/gtest.h>

namespace skyfix {
namespace {

TEST(CallOpencv, ALackOfMemoryIsBadAllocAndNothingElseIs) {
  EXPECT_EQ(call_opencv([] { return 7; }), 7);
  // More bytes than any address space has.
  EXPECT_THROW(call_opencv([] { cv::Mat(1 << 23, 1 << 23, CV_64FC4); }), std::bad_alloc);
  EXPECT_THROW(call_opencv([] { CV_Error(cv::Error::StsNoMem, "x"); }), std::bad_alloc);
  EXPECT_THROW(call_opencv([] { CV_Error(cv::Error::StsBadArg, "x"); }), cv::Exception);
  EXPECT_THROW(call_opencv([] { throw std::bad_alloc(); }), std::bad_alloc);
}

}  // namespace
}  // namespace skyfix
