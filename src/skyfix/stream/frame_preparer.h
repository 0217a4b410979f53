// Decoding and preprocessing ahead of the network, in a thread of its own and a bounded queue.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "skyfix/frames/frame_source.h"
#include "skyfix/stream/preprocess.h"

namespace skyfix {

// A frame as the network takes it, or why it cannot.
struct PreparedFrame {
  SourceFrame source;  // without its pixels
  GctFrameMap map;
  BytePicture picture;
  double preparing_ms = 0;
};

struct PrepareOptions {
  int image_size = 518;
  GctFit fit = GctFit::crop;
  double max_megapixels = 400;
  int depth = 3;  // frames that wait at most
};

class FramePreparer {
 public:
  // `source` must outlive it.
  FramePreparer(FrameSource& source, const PrepareOptions& options);
  ~FramePreparer();

  // The next frame in order; nullopt at the end, and soon after `cancel` is set. Throws what the
  // source threw, after the frames before it.
  std::optional<PreparedFrame> next(const std::atomic<bool>& cancel);

 private:
  void work();
  PreparedFrame prepare(SourceFrame&& frame) const;

  FrameSource& source_;
  const PrepareOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PreparedFrame> frames_;
  bool finished_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace skyfix
