// LAS 1.4 with point format 7 (ASPRS LAS specification 1.4 R15), for clouds in arbitrary units: no
// coordinate system is written, and the header says why. Confidence and frame are extra bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "skyfix/report/cloud_file.h"

namespace skyfix {

// The step of stored coordinates: the largest power of ten not above a hundredth of the voxel,
// larger where `extent` would not fit 31 bits. All above 0, or 0 = not known.
double las_scale(double voxel, double extent);

// A cloud.ply as LAS. 8-bit colours are multiplied by 257; gps_time is the frame's time in seconds
// (`seconds_of_frame`, 0 where it has none). Throws as read_cloud.
std::string export_cloud_las(const std::filesystem::path& cloud,
                             const std::map<std::int64_t, double>& seconds_of_frame);

}  // namespace skyfix
