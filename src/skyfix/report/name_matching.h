// Which recorded frame belongs to which reference entry.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyfix {

struct UnmatchedName {
  std::string name;
  std::string why;                     // "no such name", "several have this base name"
  std::optional<std::string> nearest;  // a name on the other side that may have been meant
};

struct NameMatching {
  // For each name of `a` the index in `b`.
  std::vector<std::optional<std::size_t>> b_of_a;
  std::vector<UnmatchedName> unmatched_a;
  std::vector<UnmatchedName> unmatched_b;
};

// Full names first; then, among what is left, base names that occur once in all of `a` and once in
// all of `b`. Names within a side are expected to be distinct.
NameMatching match_names(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace skyfix
