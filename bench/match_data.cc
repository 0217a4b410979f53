#include "bench/match_data.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/parallel.h"
#include "skyfix/match/half.h"

namespace skyfix::bench {
namespace {

std::vector<float> normal_rows(std::int64_t rows, int d, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(rows * d);
  for (float& value : values) value = normal(random);
  return values;
}

void normalise(std::vector<float>& values, int d) {
  for (std::size_t first = 0; first < values.size(); first += d) {
    float sum = 0;
    for (int k = 0; k < d; ++k) sum += values[first + k] * values[first + k];
    for (int k = 0; k < d; ++k) values[first + k] /= std::sqrt(sum);
  }
}

double product(const float* a, const float* b, int d) {
  double sum = 0;
  for (int k = 0; k < d; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

double norm(const float* a, int d) { return std::sqrt(product(a, a, d)); }

bool is_right(const float* row, DescriptorView to, std::int64_t found) {
  const int d = to.dimension;
  double best = -INFINITY;
  std::int64_t winner = -1;
  for (std::int64_t j = 0; j < to.rows; ++j) {
    const double score = product(row, to.row(j), d);
    if (score > best) {
      best = score;
      winner = j;
    }
  }
  if (found == winner) return true;
  if (found < 0 || found >= to.rows || winner < 0) return false;
  // 2 (d + 2) rounding steps of 2^-24 bound the error of a float32 difference of unit rows.
  const double length = norm(row, d) * std::max(norm(to.row(found), d), norm(to.row(winner), d));
  return product(row, to.row(found), d) >= best - 2 * (d + 2) * std::ldexp(length, -24);
}

double share_equal(DescriptorView from, DescriptorView to, const std::vector<std::int64_t>& nn) {
  constexpr std::int64_t kProducts = 200'000'000;
  const std::int64_t cost = to.rows * from.dimension;
  const std::int64_t checked = std::clamp<std::int64_t>(kProducts / cost, 1, from.rows);
  std::vector<unsigned char> right(checked, 0);
  parallel_for(checked, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const std::int64_t i = static_cast<std::int64_t>(c) * from.rows / checked;
      right[c] = is_right(from.row(i), to, nn[i]);
    }
  });
  return static_cast<double>(std::count(right.begin(), right.end(), 1)) / checked;
}

}  // namespace

MatchData::MatchData(const MatchShape& shape) : shape(shape) {
  std::mt19937 random(20240607);
  map = normal_rows(shape.m, shape.d, random);
  query = normal_rows(shape.n, shape.d, random);
  std::uniform_int_distribution<std::int64_t> pick(0, shape.m - 1);
  for (std::int64_t i = 0; i < shape.n; i += 2) {
    const float* original = map.data() + pick(random) * shape.d;
    for (int k = 0; k < shape.d; ++k) {
      float& value = query[i * shape.d + k];
      value = original[k] + 0.3f * value;
    }
  }
  normalise(query, shape.d);
  normalise(map, shape.d);
}

void MatchData::round_to(RowType type) {
  const auto round = [type](float value) {
    switch (type) {
      case RowType::float16:
        return float_from_float16(float16_from_float(value));
      case RowType::bfloat16:
        return float_from_bfloat16(bfloat16_from_float(value));
      case RowType::float32:
        break;
    }
    return value;
  };
  std::transform(query.begin(), query.end(), query.begin(), round);
  std::transform(map.begin(), map.end(), map.begin(), round);
}

double share_equal(const MatchData& data, const NearestNeighbours& found) {
  return std::min(share_equal(data.query_view(), data.map_view(), found.nn_query),
                  share_equal(data.map_view(), data.query_view(), found.nn_map));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

RowType parse_element_type(std::string_view text) {
  if (text == "fp32") return RowType::float32;
  if (text == "fp16") return RowType::float16;
  if (text == "bf16") return RowType::bfloat16;
  throw Error(Reason::bad_option,
              "--dtype is '" + std::string(text) + "'; allowed is fp32, fp16 or bf16");
}

std::string_view element_type_name(RowType type) {
  switch (type) {
    case RowType::float32:
      return "float32";
    case RowType::float16:
      return "float16";
    case RowType::bfloat16:
      return "bfloat16";
  }
  return "unknown";
}

}  // namespace skyfix::bench
