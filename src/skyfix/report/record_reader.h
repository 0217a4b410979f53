// From a written record back to a fix: what resuming, evaluation and exports need.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "skyfix/report/record.h"

namespace skyfix {

// Everything a record holds except the list of candidates and the figures of an alternative
// without a pose. The pose has the written
// doubles exactly; its quaternion is the written one (first non-zero component positive), so a
// caller that carries poses from frame to frame gets the same after a resume if it uses the sign of
// its quaternions nowhere. `where` (e.g. "line 12") and `file` go into messages.
// Throws Error(bad_run): not a record, another schema, a value of the wrong kind, ok without a
// pose, anything else with one.
Record parse_record(std::string_view line, const std::string& where,
                    const std::filesystem::path& file);

}  // namespace skyfix
