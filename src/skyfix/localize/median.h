// The middle of some values.
#pragma once

#include <algorithm>
#include <vector>

namespace skyfix {

// The upper one of an even number. `values` must not be empty.
inline double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace skyfix
