#include "skyfix/base/byte_size.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"

namespace skyfix {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;
constexpr std::string_view kPrefixes = "kmgt";

std::uint64_t power(std::uint64_t base, std::size_t exponent) {
  std::uint64_t value = 1;
  for (std::size_t i = 0; i < exponent; ++i) value *= base;
  return value;
}

// Bytes of one `unit` (lower case); nullopt for what is none.
std::optional<std::uint64_t> unit_bytes(std::string_view unit) {
  if (unit.empty() || unit == "b") return 1;
  const std::size_t prefix = kPrefixes.find(unit.front());
  if (prefix == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (rest.empty() || rest == "ib") return power(1024, prefix + 1);
  if (rest == "b") return power(1000, prefix + 1);
  return std::nullopt;
}

// Whole numbers exactly, also beyond the 53 bits of a double; nullopt for what is no size.
std::optional<std::uint64_t> multiply(std::string_view number, std::uint64_t unit) {
  // Signs and exponents are what parse_double would take beyond this.
  if (number.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  if (const auto whole = parse_integer(number)) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(*whole), unit, &bytes)) {
      return std::nullopt;
    }
    return bytes;
  }
  const auto value = parse_double(number);
  if (!value) return std::nullopt;
  const double bytes = std::round(*value * static_cast<double>(unit));
  if (bytes >= kTwoTo64) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

std::uint64_t parse_byte_size(std::string_view text, std::string_view option) {
  const std::string lower = to_lower(trim(text));
  const std::size_t number_end = std::min(lower.find_first_not_of("0123456789."), lower.size());
  const std::string_view number = std::string_view(lower).substr(0, number_end);
  const auto unit = unit_bytes(trim(std::string_view(lower).substr(number_end)));
  const auto bytes = unit ? multiply(number, *unit) : std::nullopt;
  if (!bytes || *bytes == 0) {
    throw Error(Reason::bad_option, std::string(option) + ": '" + std::string(text) +
                                        "' is no size of memory. Write it like 8GiB, 7.5G, 512MB "
                                        "or 8000000000 (bytes).");
  }
  return *bytes;
}

std::string format_byte_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // What two decimals would print as 1024.00 belongs to the next unit.
  while (value >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace skyfix
