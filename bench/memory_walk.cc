#include "bench/memory_walk.h"

#include <algorithm>
#include <cmath>

#include "skyfix/base/parallel.h"

namespace skyfix::bench {
namespace {

constexpr float kNoise = 0.3f;
constexpr std::int64_t kRowsAtATime = 1024;

// SplitMix64 (Steele, Lea, Flood 2014): a stream of its own for every row costs nothing to start.
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t index) : state_(mixed(seed ^ mixed(index + 1))) {}
  std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15ULL); }
  float next_float() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1; }  // [-1, 1)

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

void normalise(float* row, int dimension) {
  float sum = 0;
  for (int k = 0; k < dimension; ++k) sum += row[k] * row[k];
  if (sum == 0) return;
  const float scale = 1 / std::sqrt(sum);
  for (int k = 0; k < dimension; ++k) row[k] *= scale;
}

std::int64_t rows_of_reference(const WalkOptions& options, std::uint64_t key) {
  const float share = 1 + 0.3f * Stream(options.seed, key).next_float();
  return std::max<std::int64_t>(1, std::llround(options.map_points * share));
}

}  // namespace

int shared_references(const WalkOptions& options) { return options.references * 2 / 5; }

WalkFrame::WalkFrame(const WalkOptions& options, std::int64_t frame)
    : dimension_(options.dimension), query_(options.query_rows * options.dimension) {
  const std::uint64_t step = options.references - shared_references(options);
  for (int r = 0; r < options.references; ++r) {
    Reference reference{frame * step + r, {}, {}};
    const std::int64_t rows = rows_of_reference(options, reference.key);
    reference.rows.resize(rows * dimension_);
    Stream values(~options.seed, reference.key);
    for (float& value : reference.rows) value = values.next_float();
    for (std::int64_t i = 0; i < rows; ++i) {
      normalise(&reference.rows[i * dimension_], dimension_);
      // Two references never share a point here; a point has one row.
      reference.group.push_back(
          static_cast<std::uint32_t>(reference.key * options.map_points * 2 + i));
    }
    references_.push_back(std::move(reference));
  }
  fill_query(Stream(options.seed + 1, frame).next());
}

void WalkFrame::fill_query(std::uint64_t seed) {
  const std::size_t rows = query_.size() / dimension_;
  parallel_for(rows, kRowsAtATime, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Stream values(seed, i);
      const Reference& reference = references_[values.next() % references_.size()];
      const std::size_t original = values.next() % (reference.rows.size() / dimension_);
      float* row = &query_[i * dimension_];
      for (int k = 0; k < dimension_; ++k) row[k] = values.next_float();
      if (i % 2 == 0) {
        normalise(row, dimension_);
        for (int k = 0; k < dimension_; ++k) {
          row[k] = reference.rows[original * dimension_ + k] + kNoise * row[k];
        }
      }
      normalise(row, dimension_);
    }
  });
}

DescriptorView WalkFrame::query() const {
  return {query_.data(), static_cast<std::int64_t>(query_.size()) / dimension_, dimension_};
}

std::vector<PoolReference> WalkFrame::references() const {
  std::vector<PoolReference> pool;
  for (const Reference& reference : references_) {
    const auto rows = static_cast<std::int64_t>(reference.group.size());
    pool.push_back({reference.key, {reference.rows.data(), rows, dimension_}, reference.group});
  }
  return pool;
}

}  // namespace skyfix::bench
