#include "skyfix/report/csv_table.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <string_view>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

std::string quoted(const std::string& cell, char separator) {
  const std::string special = std::string("\"\r\n") + separator;
  if (cell.find_first_of(special) == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

}  // namespace

CsvTable::CsvTable(char separator) : separator_(separator) {
  constexpr std::string_view kSeparators = ",;|\t";
  if (kSeparators.find(separator) == std::string_view::npos) {
    throw Error(Reason::bad_option, "the CSV separator must be one of , ; | or a tabulator");
  }
}

void CsvTable::add(std::span<const std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text_ += separator_;
    text_ += quoted(cells[i], separator_);
  }
  text_ += "\r\n";
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string csv_number(const std::optional<double>& value) {
  return value ? csv_number(*value) : "";
}

}  // namespace skyfix
