// The pass behind runner_up_scores, for map rows that come in parts.
#pragma once

#include <cstdint>
#include <span>

#include "skyfix/match/mutual_nearest.h"

namespace skyfix::match {

// best[i] becomes the largest product of query row listed[i] with a map row of another group than
// row_group[i], or stays as it is. map_group has one entry per map row. Rows that are not finite
// are passed over.
void raise_to_other_groups(DescriptorView query, std::span<const std::int32_t> listed,
                           std::span<const std::uint32_t> row_group, DescriptorView map,
                           std::span<const std::uint32_t> map_group, std::span<float> best,
                           Simd simd);

}  // namespace skyfix::match
