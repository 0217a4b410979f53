// A run's records in the formats of other tools (docs/formats.md). Each returns a file's content.
#pragma once

#include <string>
#include <vector>

#include "skyfix/report/record.h"

namespace skyfix {

struct CsvOptions {
  char separator = ',';  // ';' where spreadsheets take the comma for a decimal point
};
// RFC 4180: one header line, one line a record, CRLF, empty cells for what is null. Numbers use '.'
// whatever the locale. Throws Error(bad_option) for a separator other than , ; | and the tabulator.
std::string export_csv(const std::vector<Record>& records, const CsvOptions& options);

// RFC 7946: WGS84 [lon, lat, height], one feature a frame (geometry null without a fix), then the
// track, split where fixes are missing. `datum` is the map's altitude datum by name: RFC 7946 wants
// heights above the ellipsoid, others are labelled. Throws Error(missing_in_map) when a fix has no
// WGS84 position: the map is not georegistered.
std::string export_geojson(const std::vector<Record>& records, const std::string& datum);

enum class TumTime { exposure, index };
// TUM: "time x y z qx qy qz qw", camera to world (ENU where georegistered, else the map's frame),
// ok frames only, times strictly increasing, nanoseconds kept. `index` takes the frame's index as
// seconds (said in a comment). Throws Error(bad_option) when exposure times are wanted and absent
// or not increasing.
std::string export_tum(const std::vector<Record>& records, TumTime time);

struct HlocOptions {
  bool base_names = false;  // as hloc and the benchmark servers write them; folders are lost
};
// hloc results: "name qw qx qy qz tx ty tz", camera from world in the map's frame; frames without a
// fix stand in a "# failed:" comment. Blanks in names are percent-encoded. Throws Error(bad_option)
// when base_names makes two frames the same.
std::string export_hloc(const std::vector<Record>& records, const HlocOptions& options);

}  // namespace skyfix
