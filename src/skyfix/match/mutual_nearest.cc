#include "skyfix/match/mutual_nearest.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <limits>
#include <memory>

#include "skyfix/base/parallel.h"
#include "skyfix/match/panels.h"
#include "skyfix/match/simd.h"

namespace skyfix {
namespace {

using match::AlignedArray;
using match::Kernel;
using match::MapBlock;
using match::QueryPanelBuffer;

constexpr float kNone = -std::numeric_limits<float>::infinity();

// Query panels handed out at once: enough work to outweigh the counter, small enough to balance.
constexpr std::int64_t kPanelsPerTask = 16;

// What one thread owns: a query panel, and the best query row it has seen for each slot of the map
// block. It meets query rows in rising order, so "better" alone keeps the lowest index of a tie.
class Worker {
 public:
  Worker(const Kernel& kernel, std::int64_t slots, int dimension)
      : kernel_(kernel), panel_(kernel, dimension), score_(slots), row_(slots) {}

  static std::size_t bytes(const Kernel& kernel, std::int64_t slots, int dimension) {
    return sizeof(Worker) + sizeof(float) * QueryPanelBuffer::value_count(kernel, dimension) +
           (sizeof(float) + sizeof(std::int32_t)) * slots;
  }

  void start_block(std::int64_t slots) {
    std::fill_n(score_.data(), slots, kNone);
    std::fill_n(row_.data(), slots, 0);
  }

  // Query rows [begin, end), at most one panel, against the block.
  void sweep(DescriptorView query, std::int64_t begin, std::int64_t end, const MapBlock& block,
             NearestNeighbours& result) {
    std::int32_t indices[match::kMaxPanelRows];
    for (std::int64_t i = begin; i < end; ++i) indices[i - begin] = static_cast<std::int32_t>(i);
    const int used = panel_.fill(query, {indices, static_cast<std::size_t>(end - begin)});
    if (used == 0) return;
    match::RowBest best;
    kernel_.nearest(panel_.panel(), block.panels(), {score_.data(), row_.data()}, best);
    for (int slot = 0; slot < used; ++slot) {
      const std::int64_t row = begin + panel_.place(slot);
      if (best.score[slot] > result.score_query[row]) {
        result.score_query[row] = best.score[slot];
        result.nn_query[row] = block.origin(best.slot[slot]);
      }
    }
  }

  // The block's columns are done with: gives what this thread found.
  void merge_columns(const MapBlock& block, NearestNeighbours& result) const {
    block.for_each_slot([&](std::int64_t slot) {
      const std::int64_t column = block.origin(slot);
      const float score = score_[slot];
      float& best = result.score_map[column];
      if (score > best || (score == best && score > kNone && row_[slot] < result.nn_map[column])) {
        best = score;
        result.nn_map[column] = row_[slot];
      }
    });
  }

 private:
  const Kernel& kernel_;
  QueryPanelBuffer panel_;
  AlignedArray<float> score_;
  AlignedArray<std::int32_t> row_;
};

std::int64_t task_rows(const Kernel& kernel) { return kPanelsPerTask * kernel.panel_rows; }

std::size_t worker_count(const Kernel& kernel, std::int64_t query_rows) {
  const std::int64_t tasks = (query_rows + task_rows(kernel) - 1) / task_rows(kernel);
  return std::min<std::size_t>(thread_count(), tasks);
}

// A worker comes to be with its first task: inside another parallel_for only one is needed.
void sweep_block(DescriptorView query, const MapBlock& block, const Kernel& kernel,
                 std::vector<std::unique_ptr<Worker>>& workers, NearestNeighbours& result) {
  const std::int64_t rows_per_task = task_rows(kernel);
  std::atomic<std::int64_t> next{0};
  for (const auto& worker : workers) {
    if (worker) worker->start_block(block.slots());
  }
  const auto run_task = [&](Worker& worker, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kernel.panel_rows) {
      worker.sweep(query, i, std::min<std::int64_t>(i + kernel.panel_rows, end), block, result);
    }
  };
  parallel_for(workers.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t w = first; w < last; ++w) {
      std::int64_t task = 0;
      while ((task = next.fetch_add(rows_per_task)) < query.rows) {
        if (!workers[w]) {
          workers[w] = std::make_unique<Worker>(kernel, block.capacity(), query.dimension);
          workers[w]->start_block(block.slots());
        }
        run_task(*workers[w], task, std::min(task + rows_per_task, query.rows));
      }
    }
  });
  for (const auto& worker : workers) {
    if (worker) worker->merge_columns(block, result);
  }
}

}  // namespace

NearestNeighbours nearest_neighbours(DescriptorView query, DescriptorView map, Simd simd) {
  assert(query.dimension == map.dimension && query.dimension >= 1);
  assert(std::max(query.rows, map.rows) < std::numeric_limits<std::int32_t>::max() - 64);
  NearestNeighbours result;
  result.nn_query.assign(query.rows, -1);
  result.nn_map.assign(map.rows, -1);
  result.score_query.assign(query.rows, kNone);
  result.score_map.assign(map.rows, kNone);
  if (query.rows == 0 || map.rows == 0) return result;

  const Kernel& kernel = match::kernel_for(simd);
  MapBlock block(kernel, map.rows, map.dimension);
  std::vector<std::unique_ptr<Worker>> workers(worker_count(kernel, query.rows));
  for (std::int64_t first = 0; first < map.rows;) {
    first = block.fill(map, first);
    sweep_block(query, block, kernel, workers, result);
  }
  return result;
}

std::size_t nearest_neighbours_extra_bytes(std::int64_t n, std::int64_t m, int dimension) {
  if (n == 0 || m == 0) return 0;
  const Kernel& kernel = match::kernel_for(Simd::automatic);
  const std::int64_t slots = MapBlock::slot_capacity(kernel, m, dimension);
  const std::size_t per_worker =
      sizeof(std::unique_ptr<Worker>) + Worker::bytes(kernel, slots, dimension);
  return MapBlock::bytes(kernel, m, dimension) + worker_count(kernel, n) * per_worker;
}

std::vector<MutualPair> mutual_pairs(const NearestNeighbours& neighbours) {
  std::vector<MutualPair> pairs;
  for (std::size_t i = 0; i < neighbours.nn_query.size(); ++i) {
    const std::int64_t j = neighbours.nn_query[i];
    if (j < 0 || neighbours.nn_map[j] != static_cast<std::int64_t>(i)) continue;
    pairs.push_back({static_cast<std::int64_t>(i), j, neighbours.score_query[i]});
  }
  return pairs;
}

}  // namespace skyfix
