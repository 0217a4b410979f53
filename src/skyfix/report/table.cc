#include "skyfix/report/table.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

constexpr std::size_t kShownNames = 20;

std::string printable(const std::string& cell) {
  std::string text = utf8_text(cell);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

std::string joined(const std::vector<std::string>& cells, const std::vector<TableColumn>& columns,
                   const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string fill(widths[c] - utf8_width(cells[c]), ' ');
    line += (c > 0 ? "  " : "") + (columns[c].right ? fill + cells[c] : cells[c] + fill);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string number(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string status_cell(const EvaluatedFrame& frame) {
  if (!frame.recorded) return "no record";
  std::string text(fix_status_name(frame.status));
  if (frame.reason) text += fmt::format(" ({})", reason_name(*frame.reason));
  return text;
}

std::string frame_table(const Evaluation& evaluation) {
  const bool metric = evaluation.metric;
  std::vector<TableColumn> columns = {{"frame"}, {"status"}};
  if (metric) columns.insert(columns.end(), {{"horizontal m", true}, {"vertical m", true}});
  columns.insert(columns.end(), {{metric ? "3D m" : "3D % of path", true}, {"rotation deg", true}});
  std::vector<std::vector<std::string>> rows;
  for (const EvaluatedFrame& frame : evaluation.frames) {
    if (frame.reference.empty()) continue;
    std::vector<std::string> row = {frame.name, status_cell(frame)};
    const auto add = [&](double FrameError::*figure) {
      row.push_back(frame.error ? number((*frame.error).*figure, 3) : "-");
    };
    if (metric) add(&FrameError::horizontal);
    if (metric) add(&FrameError::vertical);
    add(&FrameError::position);
    add(&FrameError::rotation_deg);
    rows.push_back(std::move(row));
  }
  return aligned_table(columns, rows);
}

std::string figure_table(const Evaluation& evaluation) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const ErrorSummary& summary) {
    rows.push_back(
        {name, number(summary.rmse, 3), number(summary.median, 3), number(summary.max, 3)});
  };
  if (evaluation.metric) {
    add("horizontal m", evaluation.horizontal);
    add("vertical m", evaluation.vertical);
  }
  add(evaluation.metric ? "3D m" : "3D % of path", evaluation.position);
  add("rotation deg", evaluation.rotation_deg);
  return aligned_table({{"error"}, {"RMSE", true}, {"median", true}, {"max", true}}, rows);
}

std::string recall_text(const Evaluation& evaluation) {
  std::string text;
  for (const RecallLevel& level : evaluation.recall) {
    text += fmt::format("recall at {} {}, {} deg: {} of {}\n", level.position,
                        evaluation.metric ? "m" : "% of path", level.rotation_deg, level.recalled,
                        evaluation.references);
  }
  return text;
}

std::string counts_text(const RunCounts& counts) {
  return fmt::format(
      "{} frames: {} ok, {} rejected, {} failed, {} skipped; {} for want of memory\n",
      counts.frames, counts.with(FixStatus::ok), counts.with(FixStatus::rejected),
      counts.with(FixStatus::failed), counts.with(FixStatus::skipped), counts.memory_failures());
}

std::string unmatched_text(const std::string& title, const std::vector<UnmatchedName>& names) {
  if (names.empty()) return "";
  std::string text = fmt::format("{} {}:\n", names.size(), title);
  for (std::size_t i = 0; i < std::min(names.size(), kShownNames); ++i) {
    text += "  " + printable(names[i].name) + ": " + names[i].why;
    if (names[i].nearest) text += ", nearest is " + printable(*names[i].nearest);
    text += "\n";
  }
  if (names.size() > kShownNames)
    text += fmt::format("  and {} more\n", names.size() - kShownNames);
  return text;
}

}  // namespace

std::string aligned_table(const std::vector<TableColumn>& columns,
                          const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows) {
    cells.emplace_back();
    for (std::size_t c = 0; c < std::min(row.size(), columns.size()); ++c) {
      cells.back().push_back(printable(row[c]));
    }
  }
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = utf8_width(columns[c].title);
    for (const auto& row : cells) width = std::max(width, c < row.size() ? utf8_width(row[c]) : 0);
    titles.push_back(columns[c].title);
    rules.emplace_back(width, '-');
    widths.push_back(width);
  }
  std::string text = joined(titles, columns, widths) + joined(rules, columns, widths);
  for (const auto& row : cells) text += joined(row, columns, widths);
  return text;
}

std::string evaluation_table(const Evaluation& evaluation, const Reference& reference) {
  std::string text = frame_table(evaluation) + "\n" + figure_table(evaluation) + "\n" +
                     recall_text(evaluation) + "\n" + counts_text(evaluation.counts);
  text +=
      fmt::format("Compared: {} ok frames with a reference{}; no alignment.\n", evaluation.compared,
                  reference.dataset.empty() ? "" : " (" + printable(reference.dataset) + ")");
  text += unmatched_text("references without a frame", evaluation.references_without_record);
  text += unmatched_text("frames without a reference", evaluation.records_without_reference);
  for (const std::string& warning : evaluation.warnings) text += "Warning: " + warning + "\n";
  return text;
}

std::string run_summary(const std::vector<Record>& records) {
  RunCounts counts;
  std::vector<std::vector<std::string>> without_fix;
  for (const Record& record : records) {
    const Fix& fix = record.fix;
    counts.add(fix);
    if (fix.status == FixStatus::ok) continue;
    without_fix.push_back({fix.name, std::string(fix_status_name(fix.status)),
                           fix.reason ? std::string(reason_name(*fix.reason)) : "-",
                           fix.reason_text});
  }
  std::string text = counts_text(counts);
  if (without_fix.empty()) return text;
  const std::size_t more = without_fix.size() - std::min(without_fix.size(), kShownNames);
  without_fix.resize(without_fix.size() - more);
  text +=
      "\n" + aligned_table({{"frame without a fix"}, {"status"}, {"reason"}, {"why"}}, without_fix);
  if (more > 0) text += fmt::format("and {} more\n", more);
  return text;
}

}  // namespace skyfix
