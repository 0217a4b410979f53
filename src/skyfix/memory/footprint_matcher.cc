#include "skyfix/memory/footprint_matcher.h"

#include <algorithm>

namespace skyfix {
namespace {

constexpr std::uint64_t kAlignment = 256;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A buffer that is used again and grows in steps of an eighth.
std::uint64_t grown(std::uint64_t bytes) { return aligned(bytes + bytes / 8); }

}  // namespace

std::uint64_t matcher_rows_bytes(const MatcherShape& shape, std::int64_t rows) {
  return aligned(rows * shape.dimension * data_type_bytes(shape.type)) + 2 * aligned(rows * 4);
}

std::uint64_t reference_bytes(const MatcherShape& shape) {
  return matcher_rows_bytes(shape, shape.reference_rows) + shape.reference_extra_bytes;
}

std::vector<ComponentNeed> matcher_needs(const MatcherShape& shape,
                                         const MatcherSettings& settings) {
  ComponentNeed cache{.owner = "reference descriptors"};
  cache.growth_bytes = reference_bytes(shape);
  cache.growth_count = settings.cache_references;
  cache.growth_unit = "cached reference";

  const std::int64_t chunk = std::min(settings.chunk_rows, shape.query_rows);
  ComponentNeed query{.owner = "query descriptors"};
  query.workspace_bytes = grown(matcher_rows_bytes(shape, chunk));

  const std::int64_t beyond =
      std::max<std::int64_t>(0, shape.references - settings.cache_references);
  const std::int64_t pool_rows = shape.references * shape.reference_rows;
  ComponentNeed matcher{.owner = "matcher"};
  matcher.workspace_bytes =
      grown(std::min(settings.batch_references, beyond) * reference_bytes(shape)) +
      12 * (shape.query_rows + pool_rows);
  std::vector<ComponentNeed> needs = {query, matcher};
  if (settings.cache_references > 0) needs.insert(needs.begin(), cache);
  return needs;
}

}  // namespace skyfix
