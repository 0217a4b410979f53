#include "skyfix/report/cloud_file.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"

static_assert(std::endian::native == std::endian::little);

namespace skyfix {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPointsAtOnce = 1 << 15;
constexpr std::string_view kProperties =
    "property float x\nproperty float y\nproperty float z\n"
    "property uchar red\nproperty uchar green\nproperty uchar blue\n"
    "property float confidence\nproperty uint frame\nend_header\n";

bool write_all_at(int descriptor, std::string_view bytes, std::size_t at) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all_at(int descriptor, std::span<char> bytes, std::size_t at) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::size_t>(got);
  }
  return true;
}

std::size_t size_with(std::uint64_t points) {
  return kCloudHeaderBytes + points * kCloudPointBytes;
}

std::vector<CloudPoint> points_in(std::string_view bytes) {
  std::vector<CloudPoint> points(bytes.size() / kCloudPointBytes);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = cloud_point_at(bytes.data() + i * kCloudPointBytes);
  }
  return points;
}

std::string bytes_of(std::span<const CloudPoint> points) {
  std::string bytes;
  bytes.reserve(points.size() * kCloudPointBytes);
  for (const CloudPoint& point : points) append_cloud_point(point, bytes);
  return bytes;
}

}  // namespace

std::string cloud_header_text(const CloudHeader& header) {
  const auto& o = header.offset;
  const std::string head = fmt::format(
      "ply\nformat binary_little_endian 1.0\n"
      "comment skyfix-cloud-1\n"
      "comment units arbitrary\n"
      "comment world: the first camera's frame as the network saw it, x right, y down, z forward\n"
      "comment offset {} {} {}\n"
      "comment voxel {}\n"
      "comment confidence_threshold {}\n",
      o.x(), o.y(), o.z(), header.voxel, header.confidence_threshold);
  const std::string tail = fmt::format("element vertex {}\n{}", header.points, kProperties);
  const std::size_t used = head.size() + tail.size() + 9;  // "comment " and the line's end
  assert(used <= kCloudHeaderBytes);
  return head + "comment " + std::string(kCloudHeaderBytes - used, '.') + "\n" + tail;
}

CloudHeader parse_cloud_header(std::string_view text, const fs::path& file) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Reason::bad_run, "this is not a cloud that skyfix wrote: " + what, file);
  };
  if (text.size() < kCloudHeaderBytes) refuse("its header is cut");
  text = text.substr(0, kCloudHeaderBytes);
  const auto values = [&](std::string_view key, std::size_t count) {
    const std::size_t found = text.find("\n" + std::string(key) + " ");
    if (found == std::string_view::npos) refuse(std::string(key) + " is missing");
    const std::string_view line = text.substr(found + key.size() + 2);
    std::vector<double> numbers;
    for (const std::string_view word : split_blanks(line.substr(0, line.find('\n')))) {
      const auto number = parse_double(word);
      if (!number) refuse(std::string(key) + " is not a number");
      numbers.push_back(*number);
    }
    if (numbers.size() != count) refuse(std::string(key) + " has another number of values");
    return numbers;
  };
  CloudHeader header;
  const std::vector<double> offset = values("comment offset", 3);
  header.offset = {offset[0], offset[1], offset[2]};
  header.voxel = values("comment voxel", 1)[0];
  header.confidence_threshold = values("comment confidence_threshold", 1)[0];
  const double points = values("element vertex", 1)[0];
  if (!(points >= 0 && points < 1e15) || !(header.voxel >= 0)) refuse("a value is out of range");
  header.points = static_cast<std::uint64_t>(points);
  if (cloud_header_text(header) != text) refuse("its header was changed");
  return header;
}

void append_cloud_point(const CloudPoint& point, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(point.xyz.data()), 12);
  bytes.append(reinterpret_cast<const char*>(point.rgb.data()), 3);
  bytes.append(reinterpret_cast<const char*>(&point.confidence), 4);
  bytes.append(reinterpret_cast<const char*>(&point.frame), 4);
}

CloudPoint cloud_point_at(const char* bytes) {
  CloudPoint point;
  std::memcpy(point.xyz.data(), bytes, 12);
  std::memcpy(point.rgb.data(), bytes + 12, 3);
  std::memcpy(&point.confidence, bytes + 15, 4);
  std::memcpy(&point.frame, bytes + 19, 4);
  return point;
}

CloudHeader read_cloud(const fs::path& file,
                       const std::function<void(std::span<const CloudPoint>)>& take) {
  const MappedFile mapped(file);
  CloudHeader header = parse_cloud_header(mapped.text(), file);
  const std::string_view body = mapped.text().substr(kCloudHeaderBytes);
  header.points = std::min<std::uint64_t>(header.points, body.size() / kCloudPointBytes);
  for (std::uint64_t first = 0; take && first < header.points; first += kPointsAtOnce) {
    const std::size_t count = std::min<std::uint64_t>(kPointsAtOnce, header.points - first);
    take(points_in(body.substr(first * kCloudPointBytes, count * kCloudPointBytes)));
  }
  return header;
}

std::optional<std::int64_t> last_whole_frame(const fs::path& file) {
  const MappedFile mapped(file);
  const CloudHeader promised = parse_cloud_header(mapped.text(), file);
  const std::uint64_t there = (mapped.size() - kCloudHeaderBytes) / kCloudPointBytes;
  if (there >= promised.points) return std::nullopt;
  if (there == 0) return 0;
  const char* last = mapped.text().data() + size_with(there - 1);
  return static_cast<std::int64_t>(cloud_point_at(last).frame) - 1;
}

CloudFile::CloudFile(const fs::path& file, double confidence_threshold, bool keep) : file_(file) {
  header_.confidence_threshold = confidence_threshold;
  if (!keep) {
    open(O_CREAT | O_TRUNC);
    write_header(header_);
    return;
  }
  header_ = read_cloud(file_);
  open(0);
  truncate(header_.points);
}

CloudFile::~CloudFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void CloudFile::fail(const std::string& what) const {
  throw Error(Reason::unwritable_output, "cannot " + what + ": " + std::strerror(errno), file_);
}

void CloudFile::open(int flags) {
  const int opened = ::open(file_.c_str(), O_RDWR | O_CLOEXEC | flags, 0666);
  if (opened < 0) fail("open the file");
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = opened;
}

void CloudFile::write_header(const CloudHeader& header) {
  if (!write_all_at(descriptor_, cloud_header_text(header), 0)) fail("write the cloud's header");
  header_ = header;
}

void CloudFile::append(std::span<const CloudPoint> points, const Eigen::Vector3d& offset,
                       double voxel) {
  if (points.empty()) return;
  const CloudHeader before = header_;
  CloudHeader after = before;
  after.offset = offset;
  after.voxel = voxel;
  after.points += points.size();
  const bool written = write_all_at(descriptor_, bytes_of(points), size_with(before.points)) &&
                       write_all_at(descriptor_, cloud_header_text(after), 0);
  if (written) {
    header_ = after;
    return;
  }
  const int cause = errno;
  write_all_at(descriptor_, cloud_header_text(before), 0);
  const bool cut = ::ftruncate(descriptor_, static_cast<off_t>(size_with(before.points))) == 0;
  errno = cause;
  fail(cut ? "write the cloud" : "write the cloud (bytes without use stayed behind its points)");
}

void CloudFile::truncate(std::uint64_t points) {
  CloudHeader header = header_;
  header.points = points;
  if (points == 0) {
    header.offset.setZero();
    header.voxel = 0;
  }
  write_header(header);
  if (::ftruncate(descriptor_, static_cast<off_t>(size_with(points))) != 0) {
    fail("shorten the cloud");
  }
}

void CloudFile::read(const std::function<void(std::span<const CloudPoint>)>& take) const {
  std::string bytes;
  for (std::uint64_t first = 0; first < header_.points; first += kPointsAtOnce) {
    const std::size_t count = std::min<std::uint64_t>(kPointsAtOnce, header_.points - first);
    bytes.resize(count * kCloudPointBytes);
    if (!read_all_at(descriptor_, bytes, size_with(first))) fail("read the cloud back");
    take(points_in(bytes));
  }
}

void CloudFile::rewrite(double voxel, const std::function<bool(const CloudPoint&)>& keep) {
  const fs::path partial = file_.string() + ".partial-" + std::to_string(::getpid()) + "-0";
  try {
    CloudFile other(partial, header_.confidence_threshold, false);
    read([&](std::span<const CloudPoint> points) {
      std::vector<CloudPoint> kept;
      std::copy_if(points.begin(), points.end(), std::back_inserter(kept), keep);
      other.append(kept, header_.offset, voxel);
    });
    other.sync();
    std::error_code failure;
    fs::rename(partial, file_, failure);
    if (failure) {
      throw Error(Reason::unwritable_output, "cannot replace the cloud: " + failure.message(),
                  file_);
    }
    std::swap(descriptor_, other.descriptor_);
    header_ = other.header_;
  } catch (...) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    throw;
  }
}

void CloudFile::sync() {
  // Some file systems cannot sync (EINVAL); that is no reason to lose a run.
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) fail("settle the cloud on the disk");
}

}  // namespace skyfix
