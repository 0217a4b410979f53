#include "skyfix/report/las.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "skyfix/base/version.h"

namespace skyfix {
namespace {

constexpr std::uint16_t kHeaderBytes = 375;
constexpr std::uint16_t kExtraBytes = 8;                 // confidence, frame
constexpr std::uint16_t kPointBytes = 36 + kExtraBytes;  // format 7
constexpr std::uint16_t kWktEncoding = 1 << 4;           // demanded of formats 6 and up
constexpr std::uint16_t kTextRecord = 3;
constexpr std::uint16_t kExtraBytesRecord = 4;
constexpr std::uint8_t kUint32Type = 5;
constexpr std::uint8_t kFloatType = 9;
constexpr double kMostSteps = 2'147'000'000;

template <class T>
void put(T value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Filled up with zeros.
void put_text(std::string_view text, std::size_t width, std::string& bytes) {
  bytes += text.substr(0, width);
  bytes.append(width - std::min(width, text.size()), '\0');
}

struct Bounds {
  Eigen::Vector3d low = Eigen::Vector3d::Zero();
  Eigen::Vector3d high = Eigen::Vector3d::Zero();
};

// Of the points as stored, less the cloud's offset.
Bounds bounds_of(const std::filesystem::path& cloud) {
  Bounds bounds;
  bool first = true;
  read_cloud(cloud, [&](std::span<const CloudPoint> points) {
    for (const CloudPoint& point : points) {
      const Eigen::Vector3d x = point.xyz.cast<double>();
      bounds.low = first ? x : bounds.low.cwiseMin(x).eval();
      bounds.high = first ? x : bounds.high.cwiseMax(x).eval();
      first = false;
    }
  });
  return bounds;
}

void put_record_head(std::uint16_t id, std::size_t length, std::string_view what,
                     std::string& bytes) {
  put<std::uint16_t>(0, bytes);
  put_text("LASF_Spec", 16, bytes);
  put(id, bytes);
  put(static_cast<std::uint16_t>(length), bytes);
  put_text(what, 32, bytes);
}

void put_extra_byte(std::uint8_t type, std::string_view name, std::string_view what,
                    std::string& bytes) {
  put<std::uint16_t>(0, bytes);
  put(type, bytes);
  put<std::uint8_t>(0, bytes);  // no limits, scale or offset given
  put_text(name, 32, bytes);
  bytes.append(4 + 5 * 24, '\0');
  put_text(what, 32, bytes);
}

std::string variable_records(const CloudHeader& cloud) {
  const std::string text = fmt::format(
      "Units are ARBITRARY, not metres, and there is no coordinate reference system: the cloud is "
      "a reconstruction from video alone. World: the first camera's frame (x right, y down, z "
      "forward). Voxel {}. Confidence above {}. gps_time: seconds of the frame in its video, 0 "
      "where it has none.",
      cloud.voxel, cloud.confidence_threshold);
  std::string bytes;
  put_record_head(kTextRecord, text.size(), "units arbitrary, no CRS", bytes);
  bytes += text;
  put_record_head(kExtraBytesRecord, 2 * 192, "extra bytes", bytes);
  put_extra_byte(kFloatType, "confidence", "of the network, above 1", bytes);
  put_extra_byte(kUint32Type, "frame", "index of the input frame", bytes);
  return bytes;
}

struct Grid {
  double scale = 0.001;
  Eigen::Vector3d offset = Eigen::Vector3d::Zero();
};

std::string header_of(const CloudHeader& cloud, const Grid& grid, const Bounds& bounds,
                      std::size_t records_bytes) {
  std::string bytes = "LASF";
  put<std::uint16_t>(0, bytes);
  put(kWktEncoding, bytes);
  bytes.append(16, '\0');
  put<std::uint8_t>(1, bytes);
  put<std::uint8_t>(4, bytes);
  put_text("SKYFIX, ARBITRARY UNITS, NO CRS", 32, bytes);
  put_text("skyfix " + std::string(version()), 32, bytes);
  put<std::uint32_t>(0, bytes);  // no date: equal runs give equal files
  put(kHeaderBytes, bytes);
  put(static_cast<std::uint32_t>(kHeaderBytes + records_bytes), bytes);
  put<std::uint32_t>(2, bytes);
  put<std::uint8_t>(7, bytes);
  put(kPointBytes, bytes);
  bytes.append(6 * 4, '\0');  // counts of older versions
  for (int axis = 0; axis < 3; ++axis) put(grid.scale, bytes);
  for (int axis = 0; axis < 3; ++axis) put(grid.offset[axis], bytes);
  for (int axis = 0; axis < 3; ++axis) {
    put(bounds.high[axis], bytes);
    put(bounds.low[axis], bytes);
  }
  bytes.append(8 + 8 + 4, '\0');  // no waveforms, no extended records
  put(cloud.points, bytes);
  put(cloud.points, bytes);  // all are first returns
  bytes.append(14 * 8, '\0');
  return bytes;
}

std::int32_t step_of(double value, double offset, double scale) {
  return static_cast<std::int32_t>(std::llround((value - offset) / scale));
}

void put_point(const CloudPoint& point, const Eigen::Vector3d& xyz, const Grid& grid,
               double seconds, std::string& bytes) {
  for (int axis = 0; axis < 3; ++axis) {
    put(step_of(xyz[axis], grid.offset[axis], grid.scale), bytes);
  }
  put<std::uint16_t>(0, bytes);           // intensity
  put<std::uint8_t>(1 | 1 << 4, bytes);   // return 1 of 1
  bytes.append(1 + 1 + 1 + 2 + 2, '\0');  // flags, class, user data, scan angle, source
  put(seconds, bytes);
  for (const std::uint8_t colour : point.rgb) put(static_cast<std::uint16_t>(colour * 257), bytes);
  put(point.confidence, bytes);
  put(point.frame, bytes);
}

}  // namespace

double las_scale(double voxel, double extent) {
  double exponent = voxel > 0 ? std::floor(std::log10(voxel / 100)) : -3;
  if (extent > 0) exponent = std::max(exponent, std::ceil(std::log10(extent / kMostSteps)));
  return std::pow(10, exponent);
}

std::string export_cloud_las(const std::filesystem::path& cloud,
                             const std::map<std::int64_t, double>& seconds_of_frame) {
  Bounds bounds = bounds_of(cloud);
  const CloudHeader header = read_cloud(cloud);
  Grid grid;
  grid.scale = las_scale(header.voxel, (bounds.high - bounds.low).maxCoeff() + 1);
  grid.offset = header.offset + bounds.low.array().floor().matrix();
  for (Eigen::Vector3d* corner : {&bounds.low, &bounds.high}) {
    for (int axis = 0; axis < 3; ++axis) {  // as stored, to the step
      const double world = (*corner)[axis] + header.offset[axis];
      (*corner)[axis] =
          grid.offset[axis] + grid.scale * step_of(world, grid.offset[axis], grid.scale);
    }
  }
  const std::string records = variable_records(header);
  std::string bytes = header_of(header, grid, bounds, records.size()) + records;
  bytes.reserve(bytes.size() + header.points * kPointBytes);
  read_cloud(cloud, [&](std::span<const CloudPoint> points) {
    for (const CloudPoint& point : points) {
      const auto seconds = seconds_of_frame.find(point.frame);
      put_point(point, point.xyz.cast<double>() + header.offset, grid,
                seconds == seconds_of_frame.end() ? 0 : seconds->second, bytes);
    }
  });
  return bytes;
}

}  // namespace skyfix
