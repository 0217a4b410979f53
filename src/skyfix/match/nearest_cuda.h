// The launches behind CudaMatchKernels: pointers, sizes and a stream; no LibTorch. Every function
// returns a cudaError_t as int (0 = success) and allocates nothing.
#pragma once

#include <cstdint>
#include <span>

#include "skyfix/match/match_kernels.h"

namespace skyfix::match {

struct RowSide {
  DeviceRows rows;
  float* bias = nullptr;     // [rows], written
  MatchKey* keys = nullptr;  // [rows], cleared; null = none
};
struct KeySide {
  MatchKey* keys = nullptr;  // become indices
  float* scores = nullptr;
  std::int64_t count = 0;
};

// `stream` is a cudaStream_t. Both sides of a pair in one launch; the second may be empty.
int launch_check_both(const RowSide& side, const RowSide& other, void* stream);
int launch_decode_both(const KeySide& side, const KeySide& other, void* stream);
int launch_check_rows(const DeviceRows& rows, float* bias, void* stream);
int launch_clear_keys(MatchKey* keys, std::int64_t count, void* stream);
// multiprocessors: of the device, to cut the work into enough pieces.
int launch_accumulate(std::span<const MatchWork> work, int multiprocessors, void* stream);
int launch_decode(MatchKey* keys_to_indices, float* scores, std::int64_t count, void* stream);
int launch_keep_mutual(const MutualWork& work, void* stream);
// MatchKernels::match in three launches.
int launch_match(const MatchWork& work, float* query_bias, float* map_bias, float* query_scores,
                 float* map_scores, int multiprocessors, void* stream);
int launch_runner_up(const DeviceRows& query, const std::int64_t* listed,
                     const std::uint32_t* row_group, std::int64_t listed_count,
                     const DeviceRows& map, const std::uint32_t* map_group, float* best,
                     int multiprocessors, void* stream);

}  // namespace skyfix::match
