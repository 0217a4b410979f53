#include "skyfix/report/name_matching.h"

#include <unordered_map>

#include "skyfix/base/text.h"

namespace skyfix {
namespace {

// Typos are looked for up to this many names; edit distances over more would take long.
constexpr std::size_t kMaxNamesForNearest = 2000;

std::string base_name(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// Base name -> indices of the names that end in it.
using ByBase = std::unordered_map<std::string, std::vector<std::size_t>>;

ByBase by_base_name(const std::vector<std::string>& names) {
  ByBase groups;
  for (std::size_t i = 0; i < names.size(); ++i) groups[base_name(names[i])].push_back(i);
  return groups;
}

UnmatchedName unmatched(const std::string& name, const ByBase& own, const ByBase& other,
                        const std::vector<std::string>& other_names) {
  UnmatchedName result{name, "no such name", std::nullopt};
  const std::string base = base_name(name);
  if (const auto found = other.find(base); found != other.end()) {
    result.nearest = other_names[found->second.front()];
    if (own.at(base).size() > 1 || found->second.size() > 1) {
      result.why = "several have this base name";
    }
  } else if (other_names.size() <= kMaxNamesForNearest) {
    result.nearest = nearest_name(name, other_names);
  }
  return result;
}

}  // namespace

NameMatching match_names(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  NameMatching matching;
  matching.b_of_a.resize(a.size());
  std::vector<bool> b_taken(b.size(), false);
  const auto take = [&](std::size_t i, std::size_t j) {
    matching.b_of_a[i] = j;
    b_taken[j] = true;
  };
  std::unordered_map<std::string, std::size_t> b_by_name;
  for (std::size_t j = 0; j < b.size(); ++j) b_by_name.emplace(b[j], j);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto found = b_by_name.find(a[i]);
    if (found != b_by_name.end() && !b_taken[found->second]) take(i, found->second);
  }
  const ByBase a_groups = by_base_name(a);
  const ByBase b_groups = by_base_name(b);
  for (const auto& [base, of_a] : a_groups) {
    const auto of_b = b_groups.find(base);
    if (of_a.size() != 1 || of_b == b_groups.end() || of_b->second.size() != 1) continue;
    const std::size_t j = of_b->second.front();
    if (!matching.b_of_a[of_a.front()] && !b_taken[j]) take(of_a.front(), j);
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!matching.b_of_a[i]) matching.unmatched_a.push_back(unmatched(a[i], a_groups, b_groups, b));
  }
  for (std::size_t j = 0; j < b.size(); ++j) {
    if (!b_taken[j]) matching.unmatched_b.push_back(unmatched(b[j], b_groups, a_groups, a));
  }
  return matching;
}

}  // namespace skyfix
