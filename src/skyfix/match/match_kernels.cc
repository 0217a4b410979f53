#include "skyfix/match/match_kernels.h"

#include "skyfix/match/match_key.h"

namespace skyfix {

std::size_t row_type_bytes(RowType type) { return type == RowType::float32 ? 4 : 2; }

void MatchKernels::match(const MatchWork& work, float* query_bias, float* map_bias,
                         float* query_scores, float* map_scores) {
  check_rows(work.query, query_bias);
  check_rows(work.map, map_bias);
  clear_keys(work.query_keys, work.query.rows);
  clear_keys(work.map_keys, work.map.rows);
  MatchWork checked = work;
  checked.query.bias = query_bias;
  checked.map.bias = map_bias;
  accumulate({&checked, 1});
  decode(work.query_keys, query_scores, work.query.rows);
  decode(work.map_keys, map_scores, work.map.rows);
}

MatchKey match_key(float score, std::uint32_t index) { return match::make_key(score, index); }
std::int64_t match_key_index(MatchKey key) { return match::key_index(key); }
float match_key_score(MatchKey key) { return match::key_score(key); }

}  // namespace skyfix
