// The matching kernel, written once for every instruction set: a type V of vector operations, R
// query rows by C vectors of map columns whose products stay in registers until their maxima are
// taken. Each product is one chain acc = fma(q[k], m[k], acc), k rising, from 0: equal bits
// wherever the two rows stand. The blocking is that of Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", ACM TOMS 34(3), 2008.
//
// Everything is in an unnamed namespace and calls nothing outside: see kernel.h.
#pragma once

#include "skyfix/match/kernel.h"

namespace skyfix::match {
namespace {

template <class V, int R, int C>
class Sweep {
 public:
  static constexpr int kRows = R;
  static constexpr int kColumns = C * V::kLanes;

  static void nearest(const QueryPanel& query, const MapPanels& map, const ColumnBest& columns,
                      RowBest& rows) {
    LaneBest best;
    best.clear();
    for (std::int32_t panel = 0; panel < map.panels; ++panel) {
      if (map.filled[panel] == 0) continue;
      Tile tile;
      multiply(query.values, panel_values(map, panel), map.dimension, tile);
      const std::int32_t slot = panel * kColumns;
      best.update(tile, slot);
      update_columns(tile, query.origin, columns.score + slot, columns.row + slot);
    }
    best.finish(rows);
  }

  static void best_of_other_groups(const QueryPanel& query, const MapPanels& map,
                                   const std::uint32_t* row_group,
                                   const std::uint32_t* column_group, float* best) {
    Float lanes[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) lanes[r] = V::broadcast(best[r]);
    for (std::int32_t panel = 0; panel < map.panels; ++panel) {
      if (map.filled[panel] == 0) continue;
      Tile tile;
      multiply(query.values, panel_values(map, panel), map.dimension, tile);
      const auto* group = reinterpret_cast<const std::int32_t*>(column_group) + panel * kColumns;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Int own = V::broadcast(static_cast<std::int32_t>(row_group[r]));
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
          const Mask better = V::both(V::differ(own, V::load(group + c * V::kLanes)),
                                      V::greater(tile[r][c], lanes[r]));
          lanes[r] = V::select(better, tile[r][c], lanes[r]);
        }
      }
    }
    for (int r = 0; r < R; ++r) best[r] = V::largest(lanes[r]);
  }

 private:
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Mask = typename V::Mask;
  using Tile = Float[R][C];

  static const float* panel_values(const MapPanels& map, std::int32_t panel) {
    return map.values + static_cast<std::int64_t>(panel) * map.dimension * kColumns;
  }

  [[gnu::always_inline]] static void multiply(const float* q, const float* m, int dimension,
                                              Tile& tile) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) tile[r][c] = V::broadcast(0.0f);
    }
    for (int first = 0; first < dimension; first += kChunk, q += R * kRowStride) {
      const int count = dimension - first < kChunk ? dimension - first : kChunk;
      for (int k = 0; k < count; ++k, m += kColumns) add_outer_product(q + k, m, tile);
    }
  }

  [[gnu::always_inline]] static void add_outer_product(const float* q, const float* m, Tile& tile) {
    Float column[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) column[c] = V::load(m + c * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Float row = V::broadcast(q[r * kRowStride]);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) tile[r][c] = V::multiply_add(row, column[c], tile[r][c]);
    }
  }

  // Per row and lane the largest product so far and where it was: no branches, and the lanes are
  // compared with one another only once, at the end.
  struct LaneBest {
    alignas(kAlignment) float score[R][V::kLanes];
    alignas(kAlignment) std::int32_t slot[R][V::kLanes];  // of lane 0

    [[gnu::always_inline]] void clear() {
      for (int r = 0; r < R; ++r) {
        V::store(score[r], V::broadcast(-__builtin_inff()));
        V::store(slot[r], V::broadcast(std::int32_t{0}));
      }
    }

    [[gnu::always_inline]] void update(const Tile& tile, std::int32_t first_slot) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        Float best = V::load(score[r]);
        Int where = V::load(slot[r]);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
          const Mask better = V::greater(tile[r][c], best);
          best = V::select(better, tile[r][c], best);
          where = V::select(better, V::broadcast(first_slot + c * V::kLanes), where);
        }
        V::store(score[r], best);
        V::store(slot[r], where);
      }
    }

    [[gnu::always_inline]] void finish(RowBest& rows) const {
      for (int r = 0; r < R; ++r) {
        const Float lanes = V::load(score[r]);
        const float best = V::largest(lanes);
        const Mask winner = V::equal(lanes, V::broadcast(best));
        const Int slots = V::add(V::load(slot[r]), V::lane_numbers());
        rows.score[r] = best;
        rows.slot[r] = best > -__builtin_inff()
                           ? V::smallest(V::select(winner, slots, V::broadcast(INT32_MAX)))
                           : -1;
      }
    }
  };

  // After some rows few columns find a better one, so which row it was is asked only then.
  [[gnu::always_inline]] static void update_columns(const Tile& tile, const std::int32_t* origin,
                                                    float* score, std::int32_t* row) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      const Float old = V::load(score + c * V::kLanes);
      Float best = old;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) best = V::larger(tile[r][c], best);
      const Mask better = V::greater(best, old);
      if (__builtin_expect(V::any(better), 0)) {
        Int where = V::load(row + c * V::kLanes);
#pragma GCC unroll 16
        for (int r = R - 1; r >= 0; --r) {
          const Mask here = V::both(better, V::equal(tile[r][c], best));
          where = V::select(here, V::broadcast(origin[r]), where);
        }
        V::store(score + c * V::kLanes, best);
        V::store(row + c * V::kLanes, where);
      }
    }
  }
};

template <class S>
constexpr Kernel kernel_of() {
  static_assert(S::kRows <= kMaxPanelRows);
  return {S::kRows, S::kColumns, &S::nearest, &S::best_of_other_groups};
}

}  // namespace
}  // namespace skyfix::match
