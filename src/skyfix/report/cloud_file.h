// cloud.ply: binary little endian PLY that grows as frames come and is valid at every moment. Its
// header is of fixed length and is written again, in place, behind every append; points beyond the
// count it states do not exist. All that thinning remembers can be had from the file.
//
//   x y z float (less the offset), red green blue uchar, confidence float, frame uint
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skyfix/report/cloud.h"

namespace skyfix {

inline constexpr std::size_t kCloudHeaderBytes = 1024;
inline constexpr std::size_t kCloudPointBytes = 23;

struct CloudHeader {
  Eigen::Vector3d offset = Eigen::Vector3d::Zero();  // world = offset + xyz; the stream's unit
  double voxel = 0;                                  // 0 = not known yet
  double confidence_threshold = 0;
  std::uint64_t points = 0;
};
// kCloudHeaderBytes long.
std::string cloud_header_text(const CloudHeader& header);
// Of a file that cloud_header_text began. Throws Error(bad_run).
CloudHeader parse_cloud_header(std::string_view text, const std::filesystem::path& file);

void append_cloud_point(const CloudPoint& point, std::string& bytes);
CloudPoint cloud_point_at(const char* bytes);

// A cloud as it lies on the disk. Points are given in pieces. Throws Error(unreadable_file |
// bad_run).
CloudHeader read_cloud(const std::filesystem::path& file,
                       const std::function<void(std::span<const CloudPoint>)>& take = {});

// The last frame that is there whole: nullopt = all are; otherwise a loss of power took points that
// the header counts. Throws as read_cloud.
std::optional<std::int64_t> last_whole_frame(const std::filesystem::path& file);

// The file of a run that is being written. Throws Error(unwritable_output); a failed call leaves
// the file as it was.
class CloudFile {
 public:
  // A new file, or the one that is there (`keep`; Error(bad_run) when it is no such cloud). Points
  // that the header promises and a loss of power took are not counted.
  CloudFile(const std::filesystem::path& file, double confidence_threshold, bool keep);
  ~CloudFile();
  CloudFile(const CloudFile&) = delete;
  CloudFile& operator=(const CloudFile&) = delete;

  const CloudHeader& header() const { return header_; }
  // Appends points; the header's offset and voxel become these.
  void append(std::span<const CloudPoint> points, const Eigen::Vector3d& offset, double voxel);
  // Drops all points but the first `points`. With 0, offset and voxel are not known any more.
  void truncate(std::uint64_t points);
  // Writes the file anew with the points for which `keep` is true.
  void rewrite(double voxel, const std::function<bool(const CloudPoint&)>& keep);
  void read(const std::function<void(std::span<const CloudPoint>)>& take) const;
  void sync();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void open(int flags);
  void write_header(const CloudHeader& header);
  std::filesystem::path file_;
  int descriptor_ = -1;
  CloudHeader header_;
};

// The cloud of a run: what frames give, thinned, in cloud.ply.
class CloudWriter {
 public:
  // A new cloud.
  CloudWriter(const std::filesystem::path& file, const CloudOptions& options);
  // The one that is there, without what frames after `last_frame` gave.
  CloudWriter(const std::filesystem::path& file, const CloudOptions& options,
              std::int64_t last_frame);

  // Adds a frame's points. On failure nothing of it stays.
  void add(const StreamFrame& frame);
  // Takes the last add() back.
  void undo();
  // To be called when the frame is recorded: coarsens the cloud where it is over its cap.
  void settle();
  void sync() { file_.sync(); }

  const CloudHeader& header() const { return file_.header(); }
  // (frame, points in the cloud), frames without points left out.
  const std::vector<std::pair<std::int64_t, std::int64_t>>& points_by_frame() const {
    return by_frame_;
  }

 private:
  void rebuild();
  void count(const CloudPoint& point);

  CloudOptions options_;
  CloudFile file_;
  CloudThinning thinning_;
  std::uint64_t before_ = 0;  // points before the last add()
  std::vector<std::pair<std::int64_t, std::int64_t>> by_frame_;
};

// Points thinned to at most `most` by doubling the voxel, as CloudWriter does; in their order.
std::vector<CloudPoint> thinned_cloud(const std::filesystem::path& file, std::int64_t most);

}  // namespace skyfix
