// The second look at the pairs: the best product outside the matched point's own descriptor rows.
#include "skyfix/match/runner_up.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "skyfix/base/parallel.h"
#include "skyfix/match/panels.h"
#include "skyfix/match/simd.h"

namespace skyfix {
namespace match {
namespace {

constexpr std::size_t kPanelsPerTask = 16;

// One panel of listed rows against the block: raises their entries of `best`.
void sweep_listed(DescriptorView query, std::span<const std::int32_t> listed,
                  const std::uint32_t* listed_group, const Kernel& kernel, const MapBlock& block,
                  const std::uint32_t* slot_group, QueryPanelBuffer& panel, float* best) {
  const int used = panel.fill(query, listed);
  if (used == 0) return;
  std::uint32_t row_group[kMaxPanelRows];
  float row_best[kMaxPanelRows];
  for (int slot = 0; slot < kernel.panel_rows; ++slot) {
    row_group[slot] = listed_group[panel.place(slot)];
    row_best[slot] = best[panel.place(slot)];
  }
  kernel.best_of_other_groups(panel.panel(), block.panels(), row_group, slot_group, row_best);
  for (int slot = 0; slot < used; ++slot) best[panel.place(slot)] = row_best[slot];
}

}  // namespace

void raise_to_other_groups(DescriptorView query, std::span<const std::int32_t> listed,
                           std::span<const std::uint32_t> row_group, DescriptorView map,
                           std::span<const std::uint32_t> map_group, std::span<float> best,
                           Simd simd) {
  assert(query.dimension == map.dimension && query.dimension >= 1);
  assert(static_cast<std::int64_t>(map_group.size()) == map.rows);
  assert(listed.size() == row_group.size() && listed.size() == best.size());
  if (listed.empty() || map.rows == 0) return;

  const Kernel& kernel = kernel_for(simd);
  const std::size_t grain = kPanelsPerTask * kernel.panel_rows;
  MapBlock block(kernel, map.rows, map.dimension);
  AlignedArray<std::uint32_t> slot_group(MapBlock::slot_capacity(kernel, map.rows, map.dimension));
  for (std::int64_t first = 0; first < map.rows;) {
    first = block.fill(map, first);
    for (std::int64_t slot = 0; slot < block.slots(); ++slot) {
      slot_group[slot] = map_group[block.origin(slot)];
    }
    parallel_for(listed.size(), grain, [&](std::size_t begin, std::size_t end) {
      QueryPanelBuffer panel(kernel, map.dimension);
      for (std::size_t i = begin; i < end; i += kernel.panel_rows) {
        const std::size_t count = std::min<std::size_t>(kernel.panel_rows, end - i);
        sweep_listed(query, listed.subspan(i, count), row_group.data() + i, kernel, block,
                     slot_group.data(), panel, best.data() + i);
      }
    });
  }
}

}  // namespace match

std::vector<float> runner_up_scores(DescriptorView query, DescriptorView map,
                                    std::span<const std::uint32_t> group,
                                    std::span<const MutualPair> pairs, Simd simd) {
  std::vector<std::int32_t> listed(pairs.size());
  std::vector<std::uint32_t> row_group(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    listed[i] = static_cast<std::int32_t>(pairs[i].query);
    row_group[i] = group[pairs[i].map];
  }
  std::vector<float> best(pairs.size(), -std::numeric_limits<float>::infinity());
  match::raise_to_other_groups(query, listed, row_group, map, group, best, simd);
  return best;
}

}  // namespace skyfix
