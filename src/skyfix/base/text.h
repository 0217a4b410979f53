// Small things done to text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

// Natural order: digit runs compare as numbers ("frame2" < "frame10"); equal values by bytes.
bool natural_less(std::string_view a, std::string_view b);

// The candidate nearest to `word` by edit distance, if it is near enough to be a typo.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> names);

// Pieces between blanks (space, tab, CR); empty pieces are dropped.
std::vector<std::string_view> split_blanks(std::string_view line);

std::string_view trim(std::string_view text);
std::string to_lower(std::string_view ascii);

// Whole-string parse with '.' as the decimal point whatever the locale; nullopt otherwise, and for
// numbers that do not fit, infinities and NaN.
std::optional<double> parse_double(std::string_view text);
std::optional<long long> parse_integer(std::string_view text);

}  // namespace skyfix
