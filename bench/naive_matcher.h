// The way that once ended a batch of photos on an 8 GiB card after a few frames, as a peer: every
// reference frame stays on the device with one descriptor a pixel, each pair has its whole product
// matrix, and what a failed frame held stays held.
#pragma once

#include <memory>
#include <span>

#include "skyfix/match/pool_matcher.h"

namespace skyfix::bench {

class NaiveMatcher {
 public:
  explicit NaiveMatcher(DeviceKind device);
  ~NaiveMatcher();
  // The number of mutual pairs, summed over the references one by one. Throws OutOfDeviceMemory,
  // and DeviceFailure for LibTorch's other errors.
  std::int64_t match(DescriptorView query, std::span<const PoolReference> references);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyfix::bench
