// Readable text tables. The command line prints them.
#pragma once

#include <string>
#include <vector>

#include "skyfix/report/evaluate.h"

namespace skyfix {

struct TableColumn {
  std::string title;
  bool right = false;  // aligned to the right, as numbers are
};

// Columns two blanks apart under their titles and a rule; widths count characters, not bytes; no
// blanks at line ends. Control characters in cells are shown as '?'. Rows may be short.
std::string aligned_table(const std::vector<TableColumn>& columns,
                          const std::vector<std::vector<std::string>>& rows);

// Errors by frame, figures over the run, recall, counts, and what was not compared.
std::string evaluation_table(const Evaluation& evaluation, const Reference& reference);

// Frames by status and reason, and the first frames without a fix.
std::string run_summary(const std::vector<Record>& records);

}  // namespace skyfix
