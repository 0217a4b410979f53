// CSV as RFC 4180 wants it: cells quoted where they must be, lines end with CRLF, '.' in numbers
// whatever the locale.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace skyfix {

class CsvTable {
 public:
  // Throws Error(bad_option) for a separator other than , ; | and the tabulator.
  explicit CsvTable(char separator);
  void add(std::span<const std::string> cells);
  const std::string& text() const { return text_; }

 private:
  char separator_;
  std::string text_;
};

// Shortest form that reads back to the same double; empty where not finite or absent.
std::string csv_number(double value);
std::string csv_number(const std::optional<double>& value);

}  // namespace skyfix
