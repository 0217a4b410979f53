// Fixed-shape regions of a network as CUDA graphs: launched as a whole instead of kernel by kernel.
// The eager twin is the region's own function: on the CPU, without libskyfix_cuda.so, switched off
// (SKYFIX_NO_GRAPHS=1), and after a failure it is called instead, and gives the same numbers.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/memory/bounded_cache.h"
#include "skyfix/nn/cuda_nn.h"

namespace skyfix::nn {

// Owner of the graphs' memory in the ledger.
inline constexpr std::string_view kGraphOwner = "graphs";

struct GraphFigures {
  int recorded = 0;
  int replayed = 0;
  int failed = 0;  // recordings that were given up; their regions stay eager
  int held = 0;
  std::uint64_t bytes = 0;  // of the inputs and outputs of those held
};

// What a region gave.
class RegionOutputs {
 public:
  RegionOutputs(const std::vector<at::Tensor>& tensors, bool borrowed)
      : tensors_(tensors), borrowed_(borrowed) {}
  // To be read before the user returns: the next replay overwrites it.
  const at::Tensor& operator[](std::size_t i) const { return tensors_.at(i); }
  // To be kept: a copy where it must be one.
  at::Tensor keep(std::size_t i) const {
    return borrowed_ ? tensors_.at(i).clone() : tensors_.at(i);
  }
  std::size_t size() const { return tensors_.size(); }

 private:
  const std::vector<at::Tensor>& tensors_;
  bool borrowed_;
};

// Thread-safe; all threads' work must be in order on one stream, since recordings share memory.
// Releasing them is what the retry ladder does first where memory runs out.
class GraphRegions : public ReleasableCache {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Work = std::function<Tensors(const Tensors& inputs)>;
  using User = std::function<void(const RegionOutputs& outputs)>;

  // SKYFIX_NO_GRAPHS unset or 0.
  static bool wanted_by_environment();
  explicit GraphRegions(bool enabled = wanted_by_environment(), std::size_t most_held = 8)
      : enabled_(enabled), most_held_(most_held) {}

  // work(inputs), then use(outputs). A region is `name` with the inputs' shapes and types: met for
  // the first time it is computed eagerly, the second time recorded, then replayed. `work` must
  // depend on its inputs and constants alone, and never wait for the device.
  void run(std::string_view name, const Tensors& inputs, const Work& work, const User& use);

  void enable(bool enabled);
  GraphFigures figures() const;
  double rebuild_cost_ms() const override { return 100; }
  std::uint64_t release_unpinned() override;

 private:
  struct Region {
    std::string key;
    Tensors inputs, outputs;  // what the recording reads and writes
    std::unique_ptr<RecordedWork> recording;
    std::uint64_t bytes = 0;
  };
  Region* find(const std::string& key);
  // Null when it could not be recorded.
  Region* record(const std::string& key, const Tensors& inputs, const Work& work);

  mutable std::mutex mutex_;
  bool enabled_;
  std::size_t most_held_;
  std::list<Region> regions_;  // most recently used first
  std::set<std::string> met_;  // computed once
  std::set<std::string> refused_;
  GraphFigures figures_;
};

}  // namespace skyfix::nn
