// A network on a device whose memory may run out, with its twin on the CPU as the last resort: what
// the network is asked for is answered in any case.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "skyfix/memory/retry.h"

namespace skyfix {

// Not thread-safe.
template <class Network>
class Guarded {
 public:
  using MakeTwin = std::function<std::shared_ptr<const Network>()>;

  // `device` null: the network runs on the CPU, nothing can run out. `caches` must outlive it; they
  // are released when memory is short. `make_twin` is called when it is needed, at most once.
  Guarded(std::shared_ptr<const Network> network, MakeTwin make_twin, Device* device,
          const std::vector<ReleasableCache*>& caches)
      : network_(std::move(network)), make_twin_(std::move(make_twin)) {
    // Numbers of a network differ by batch within its tolerance: few steps, then the CPU.
    if (device != nullptr) {
      ladder_ = std::make_unique<RetryLadder>(
          *device, caches, RetryOptions{.min_chunk_scale = 1.0 / 4, .min_batch_scale = 1.0 / 8});
    }
  }

  const Network& network() const { return *network_; }

  // work(network, effort), again with less after each lack of memory. What an attempt holds of the
  // device must be gone when it throws.
  template <class Work>
  auto run(RetryReport& report, Work&& work) {
    if (!ladder_) {
      report = {};
      return work(*network_, std::as_const(report.effort));
    }
    return ladder_->run(report, [&](const Effort& effort) {
      return work(effort.on_cpu ? twin() : *network_, effort);
    });
  }

 private:
  const Network& twin() {
    if (!twin_) twin_ = make_twin_();
    return *twin_;
  }

  std::shared_ptr<const Network> network_;
  std::shared_ptr<const Network> twin_;
  MakeTwin make_twin_;
  std::unique_ptr<RetryLadder> ladder_;
};

}  // namespace skyfix
