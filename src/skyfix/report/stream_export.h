// A reconstruction in the formats of other tools: what is made from its records (and cloud). Units
// are arbitrary in all of them, and said to be where the format has room for it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "skyfix/map/colmap_model.h"
#include "skyfix/report/cloud_file.h"
#include "skyfix/report/export.h"
#include "skyfix/report/stream_record.h"

namespace skyfix {

// trajectory.tum: comments, then a line for each ok frame. Time: the frame's in seconds, or its
// index where the first ok frame has none. A frame whose time is missing or not after the one
// before is left out.
std::string stream_tum_head();
// The line of the record, "" where it has none; `before` is the time of the last line and is moved
// on.
std::string stream_tum_line(const StreamRecord& record, bool by_index,
                            std::optional<std::int64_t>& before);
std::string export_stream_tum(const std::vector<StreamRecord>& records);

// As export_csv.
std::string export_stream_csv(const std::vector<StreamRecord>& records, const CsvOptions& options);

// One PINHOLE camera an ok frame (the network sees a field of view in each), at the source's size;
// ids are the frames' indices. Each point has one observation, in the frame it comes from, and is
// moved back by `offset`.
ColmapModel stream_colmap(const std::vector<StreamRecord>& records,
                          std::span<const CloudPoint> points, const Eigen::Vector3d& offset);

// The cloud's bytes up to the last point its header counts. Throws Error(bad_run), and
// Error(unreadable_file) for a run without a cloud.
std::string export_cloud_ply(const std::filesystem::path& cloud);

}  // namespace skyfix
