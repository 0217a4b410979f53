#include "skyfix/match/match_kernels.h"

#include "skyfix/match/match_key.h"

namespace skyfix {

std::size_t element_bytes(ElementType type) { return type == ElementType::float32 ? 4 : 2; }

MatchKey match_key(float score, std::uint32_t index) { return match::make_key(score, index); }
std::int64_t match_key_index(MatchKey key) { return match::key_index(key); }
float match_key_score(MatchKey key) { return match::key_score(key); }

}  // namespace skyfix
