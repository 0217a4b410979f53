// The host kernels against mutual_nearest.h: whole, in parts, in every element type.
#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "skyfix/match/half.h"
#include "skyfix/match/match_kernels.h"
#include "skyfix/match/testing.h"

namespace skyfix {
namespace {

using testing::Descriptors;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kNone = -std::numeric_limits<float>::infinity();

// Rows in some element type with their bias, as a device would hold them.
class Rows {
 public:
  Rows(const Descriptors& from, RowType type, MatchKernels& kernels) : type_(type) {
    floats_ = from.values;
    for (float& value : floats_) {
      if (type == RowType::float32) continue;
      const bool is_16 = type == RowType::float16;
      narrow_.push_back(is_16 ? float16_from_float(value) : bfloat16_from_float(value));
      value = is_16 ? float_from_float16(narrow_.back()) : float_from_bfloat16(narrow_.back());
    }
    rows_ = from.rows;
    dimension_ = from.dimension;
    bias_.assign(rows_, 7);
    kernels.check_rows(part(0, rows_), bias_.data());
  }

  DeviceRows part(std::int64_t begin, std::int64_t end) const {
    const auto* first = type_ == RowType::float32
                            ? reinterpret_cast<const std::byte*>(floats_.data())
                            : reinterpret_cast<const std::byte*>(narrow_.data());
    return {first + begin * dimension_ * static_cast<std::int64_t>(row_type_bytes(type_)),
            bias_.data() + begin,
            end - begin,
            dimension_,
            type_,
            static_cast<std::uint32_t>(begin)};
  }
  DeviceRows all() const { return part(0, rows_); }
  DescriptorView view() const { return {floats_.data(), rows_, dimension_}; }  // widened
  std::vector<float>& bias() { return bias_; }

 private:
  RowType type_;
  std::vector<float> floats_;
  std::vector<std::uint16_t> narrow_;
  std::vector<float> bias_;
  std::int64_t rows_ = 0;
  int dimension_ = 0;
};

struct Keys {
  explicit Keys(std::int64_t count, MatchKernels& kernels) : keys(count, 99), scores(count) {
    kernels.clear_keys(keys.data(), count);
  }
  std::vector<std::int64_t> decode(MatchKernels& kernels) {
    kernels.decode(keys.data(), scores.data(), std::ssize(keys));
    return {keys.begin(), keys.end()};
  }
  std::vector<MatchKey> keys;
  std::vector<float> scores;
};

class HostMatchKernels : public ::testing::TestWithParam<RowType> {
 protected:
  std::unique_ptr<MatchKernels> kernels_ = make_host_match_kernels();
  std::mt19937 random_{21};
};
INSTANTIATE_TEST_SUITE_P(Types, HostMatchKernels,
                         ::testing::Values(RowType::float32, RowType::float16, RowType::bfloat16));

TEST_P(HostMatchKernels, PartsGiveTheResultOfOnePass) {
  // The last shape is larger than a piece that is widened at once.
  for (const auto [n, m, d] :
       {std::array{70, 45, 24}, std::array{1, 300, 3}, std::array{1100, 1300, 300}}) {
    Descriptors query = testing::normal_rows(n, d, random_);
    Descriptors map = testing::integer_rows(m, d, 1, random_);  // ties
    if (n > 5) query.row(3)[d - 1] = kNan;
    map.row(m / 2)[0] = kNone;
    const Rows q(query, GetParam(), *kernels_);
    const Rows p(map, GetParam(), *kernels_);
    const NearestNeighbours expected = nearest_neighbours(q.view(), p.view());
    for (const std::int64_t step : {std::int64_t{7}, std::int64_t{n + m}}) {
      if (step == 7 && n > 100) continue;
      Keys query_keys(n, *kernels_);
      Keys map_keys(m, *kernels_);
      std::vector<MatchWork> work;
      for (std::int64_t i = 0; i < n; i += step) {
        for (std::int64_t j = 0; j < m; j += step) {
          work.push_back({q.part(i, std::min<std::int64_t>(n, i + step)),
                          p.part(j, std::min<std::int64_t>(m, j + step)),
                          query_keys.keys.data() + i, map_keys.keys.data() + j});
        }
      }
      kernels_->accumulate(work);
      EXPECT_EQ(query_keys.decode(*kernels_), expected.nn_query);
      EXPECT_EQ(map_keys.decode(*kernels_), expected.nn_map);
      EXPECT_EQ(query_keys.scores, expected.score_query);
      EXPECT_EQ(map_keys.scores, expected.score_map);
    }
  }
}

TEST_P(HostMatchKernels, CheckRowsFindsWhatIsNotFinite) {
  Descriptors map = testing::normal_rows(900, 300, random_);
  map.row(0)[299] = kNan;
  map.row(899)[0] = -kNone;
  Rows rows(map, GetParam(), *kernels_);
  for (int i = 0; i < 900; ++i) EXPECT_EQ(rows.bias()[i], i == 0 || i == 899 ? kNone : 0) << i;
}

TEST_P(HostMatchKernels, ABiasedRowNeverMatches) {
  const Descriptors query = testing::normal_rows(60, 24, random_);
  const Descriptors map = testing::normal_rows(50, 24, random_);
  Rows q(query, GetParam(), *kernels_);
  Rows p(map, GetParam(), *kernels_);
  for (int i : {0, 31}) q.bias()[i] = kNone;
  for (int j = 10; j < 40; ++j) p.bias()[j] = kNone;
  // The same with NaN in place of the bias.
  Descriptors spoiled_query(60, 24), spoiled_map(50, 24);
  spoiled_query.values.assign(q.view().data, q.view().data + 60 * 24);
  spoiled_map.values.assign(p.view().data, p.view().data + 50 * 24);
  for (int i : {0, 31}) spoiled_query.row(i)[5] = kNan;
  for (int j = 10; j < 40; ++j) spoiled_map.row(j)[5] = kNan;
  const NearestNeighbours expected = nearest_neighbours(spoiled_query.view(), spoiled_map.view());
  Keys query_keys(60, *kernels_);
  Keys map_keys(50, *kernels_);
  const MatchWork work{q.all(), p.all(), query_keys.keys.data(), map_keys.keys.data()};
  kernels_->accumulate({&work, 1});
  EXPECT_EQ(query_keys.decode(*kernels_), expected.nn_query);
  EXPECT_EQ(map_keys.decode(*kernels_), expected.nn_map);

  const std::vector<std::int64_t> listed{1, 31};
  const std::vector<std::uint32_t> own_group{500, 500};
  std::vector<std::uint32_t> group(50, 1);
  std::vector<float> best(2, kNone);
  kernels_->runner_up(q.all(), listed.data(), own_group.data(), 2, p.all(), group.data(),
                      best.data());
  EXPECT_EQ(best[0], expected.score_query[1]);
  EXPECT_EQ(best[1], kNone);
}

TEST_P(HostMatchKernels, OneDirectionAlone) {
  const Rows q(testing::normal_rows(30, 8, random_), GetParam(), *kernels_);
  const Rows p(testing::normal_rows(20, 8, random_), GetParam(), *kernels_);
  Keys query_keys(30, *kernels_);
  const MatchWork work{q.all(), p.all(), query_keys.keys.data(), nullptr};
  kernels_->accumulate({&work, 1});
  EXPECT_EQ(query_keys.decode(*kernels_), nearest_neighbours(q.view(), p.view()).nn_query);
}

TEST_P(HostMatchKernels, RunnerUpInPartsIsThatOfOnePass) {
  const int n = 1000, m = 700, d = 300;
  const Rows q(testing::normal_rows(n, d, random_), GetParam(), *kernels_);
  const Rows p(testing::normal_rows(m, d, random_), GetParam(), *kernels_);
  std::vector<std::uint32_t> group(m);
  for (std::uint32_t& g : group) g = random_() % 90;
  std::vector<MutualPair> pairs;  // any pairs: what is asked is the best of other groups
  for (std::int64_t i = 0; i < n; ++i)
    pairs.push_back({i, static_cast<std::int64_t>(i * 13 % m), 0});
  const std::vector<float> expected = runner_up_scores(q.view(), p.view(), group, pairs);
  std::vector<std::int64_t> listed;
  std::vector<std::uint32_t> row_group;
  for (const MutualPair& pair : pairs) {
    listed.push_back(pair.query);
    row_group.push_back(group[pair.map]);
  }
  std::vector<float> best(n, kNone);
  for (const auto& [begin, end] : {std::pair{300, 700}, {0, 1}, {1, 300}}) {
    kernels_->runner_up(q.all(), listed.data(), row_group.data(), n, p.part(begin, end),
                        group.data() + begin, best.data());
  }
  EXPECT_EQ(best, expected);
}

}  // namespace
}  // namespace skyfix
