// The second look at the pairs: the best product outside the matched point's own descriptor rows.
#include <algorithm>
#include <cassert>
#include <limits>

#include "skyfix/base/parallel.h"
#include "skyfix/match/mutual_nearest.h"
#include "skyfix/match/panels.h"
#include "skyfix/match/simd.h"

namespace skyfix {
namespace {

using match::AlignedArray;
using match::Kernel;
using match::MapBlock;
using match::QueryPanelBuffer;

constexpr std::size_t kPanelsPerTask = 16;

// One panel of pairs against the block: raises their entries of `best`.
void sweep_pairs(DescriptorView query, std::span<const std::uint32_t> group,
                 std::span<const MutualPair> pairs, const Kernel& kernel, const MapBlock& block,
                 const std::uint32_t* slot_group, QueryPanelBuffer& panel, float* best) {
  std::int32_t indices[match::kMaxPanelRows] = {};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    indices[i] = static_cast<std::int32_t>(pairs[i].query);
  }
  const int used = panel.fill(query, {indices, pairs.size()});
  if (used == 0) return;
  std::uint32_t row_group[match::kMaxPanelRows];
  float row_best[match::kMaxPanelRows];
  for (int slot = 0; slot < kernel.panel_rows; ++slot) {
    row_group[slot] = group[pairs[panel.place(slot)].map];
    row_best[slot] = best[panel.place(slot)];
  }
  kernel.best_of_other_groups(panel.panel(), block.panels(), row_group, slot_group, row_best);
  for (int slot = 0; slot < used; ++slot) best[panel.place(slot)] = row_best[slot];
}

}  // namespace

std::vector<float> runner_up_scores(DescriptorView query, DescriptorView map,
                                    std::span<const std::uint32_t> group,
                                    std::span<const MutualPair> pairs, Simd simd) {
  assert(query.dimension == map.dimension && query.dimension >= 1);
  assert(static_cast<std::int64_t>(group.size()) == map.rows);
  std::vector<float> best(pairs.size(), -std::numeric_limits<float>::infinity());
  if (pairs.empty() || map.rows == 0) return best;

  const Kernel& kernel = match::kernel_for(simd);
  const std::size_t grain = kPanelsPerTask * kernel.panel_rows;
  MapBlock block(kernel, map.rows, map.dimension);
  AlignedArray<std::uint32_t> slot_group(MapBlock::slot_capacity(kernel, map.rows, map.dimension));
  for (std::int64_t first = 0; first < map.rows;) {
    first = block.fill(map, first);
    for (std::int64_t slot = 0; slot < block.slots(); ++slot) {
      slot_group[slot] = group[block.origin(slot)];
    }
    parallel_for(pairs.size(), grain, [&](std::size_t begin, std::size_t end) {
      QueryPanelBuffer panel(kernel, map.dimension);
      for (std::size_t i = begin; i < end; i += kernel.panel_rows) {
        const std::size_t count = std::min<std::size_t>(kernel.panel_rows, end - i);
        sweep_pairs(query, group, pairs.subspan(i, count), kernel, block, slot_group.data(), panel,
                    best.data() + i);
      }
    });
  }
  return best;
}

}  // namespace skyfix
