// What the driver and the SIMD kernels agree on. Plain types only: the kernels are compiled with
// their own instruction sets, and any inline function shared with other files could carry those
// instructions to a machine without them.
#pragma once

#include <cstdint>

namespace skyfix::match {

// A query panel keeps its rows side by side at a fixed distance, so that every row is a constant
// offset from one pointer. Longer rows go on in further chunks. The distance is no power of two:
// the rows must not all fall into the same cache set.
inline constexpr int kChunk = 256;              // entries of a row in one chunk
inline constexpr int kRowStride = kChunk + 16;  // floats from one row of a chunk to the next
inline constexpr int kMaxPanelRows = 16;
inline constexpr int kAlignment = 64;  // bytes; all buffers below

// Some query rows (as many as the kernel's panel_rows). A slot without a row of its own repeats
// the last row that has one: a copy ties with its original and, coming later, always loses.
struct QueryPanel {
  const float* values;         // [chunks][panel_rows][kRowStride]
  const std::int32_t* origin;  // [panel_rows] index of the query row in each slot, rising
};

// Some map rows, transposed in panels of the kernel's panel_columns slots; spare slots repeat as
// above. A panel that holds no row at all has filled == 0 and is passed over.
struct MapPanels {
  const float* values;         // [panels][dimension][panel_columns]
  const std::int32_t* filled;  // [panels]
  std::int32_t panels;
  std::int32_t dimension;
};

// The best query row so far of each map slot: updated.
struct ColumnBest {
  float* score;       // [slots]
  std::int32_t* row;  // [slots]
};

// The best map slot of each row of the query panel: written. slot is -1 where nothing is better
// than -infinity.
struct RowBest {
  float score[kMaxPanelRows];
  std::int32_t slot[kMaxPanelRows];
};

struct Kernel {
  int panel_rows;
  int panel_columns;
  // All products of a query panel with map panels; keeps the best of each row and of each column.
  // Products that overflow to NaN are nobody's best.
  void (*nearest)(const QueryPanel& query, const MapPanels& map, const ColumnBest& columns,
                  RowBest& rows);
  // best[r] becomes the largest product of query slot r with a map slot of another group than
  // row_group[r], or stays as it is.
  void (*best_of_other_groups)(const QueryPanel& query, const MapPanels& map,
                               const std::uint32_t* row_group, const std::uint32_t* column_group,
                               float* best);
};

// Null where the program was built for another kind of processor. The caller checks that this
// processor has the instructions.
const Kernel* scalar_kernel();
const Kernel* avx2_kernel();
const Kernel* avx512_kernel();

}  // namespace skyfix::match
