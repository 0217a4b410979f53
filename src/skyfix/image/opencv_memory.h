// OpenCV says that host memory ran out by an exception of its own. For the rooms that call OpenCV.
#pragma once

#include <new>
#include <opencv2/core.hpp>
#include <utility>

namespace skyfix {

// What `call` returns. Throws std::bad_alloc where OpenCV reports a lack of memory, so that it is
// treated like any other; all else that it throws goes through.
template <class Call>
decltype(auto) call_opencv(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const cv::Exception& failure) {
    if (failure.code == cv::Error::StsNoMem) throw std::bad_alloc();
    throw;
  }
}

}  // namespace skyfix
