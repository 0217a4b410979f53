#include "skyfix/report/stream_export.h"

#include <map>

#include "skyfix/base/file.h"
#include "skyfix/report/csv_table.h"
#include "skyfix/report/json_values.h"
#include "skyfix/report/tum.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

const std::vector<std::string>& csv_names() {
  static const std::vector<std::string> kNames{"name",        "index",
                                               "time_ns",     "status",
                                               "reason",      "qw",
                                               "qx",          "qy",
                                               "qz",          "tx",
                                               "ty",          "tz",
                                               "centre_x",    "centre_y",
                                               "centre_z",    "fx",
                                               "fy",          "cx",
                                               "cy",          "width",
                                               "height",      "median_confidence",
                                               "share_above", "role",
                                               "window",      "units"};
  return kNames;
}

std::vector<std::string> csv_view_cells(const StreamView& view) {
  std::vector<std::string> cells;
  const auto add = [&](const auto& values) {
    for (const double value : values) cells.push_back(csv_number(value));
  };
  const Rigid3& pose = view.view.cam_from_world;
  add(canonical_wxyz(pose.rotation));
  add(pose.translation);
  add(pose.centre());
  const Camera& camera = view.view.source_camera;
  add(camera.params);
  cells.push_back(std::to_string(camera.width));
  cells.push_back(std::to_string(camera.height));
  add(std::array{view.median_confidence, view.share_above});
  cells.emplace_back(frame_role_name(view.role));
  cells.push_back(std::to_string(view.window));
  return cells;
}

}  // namespace

std::string stream_tum_head() {
  return "# time x y z qx qy qz qw: camera to world, camera x right, y down, z forward\n"
         "# units: arbitrary, not metres; world: the first camera's frame as the network saw it\n"
         "# time: the frame's, in seconds, or its index where frames have no time\n";
}

std::string stream_tum_line(const StreamRecord& record, bool by_index,
                            std::optional<std::int64_t>& before) {
  if (!record.view) return "";
  const auto time =
      by_index ? std::optional<std::int64_t>(record.index * 1'000'000'000) : record.time_ns;
  if (!time || (before && *time <= *before)) return "";
  before = time;
  return tum_line(*time, record.view->view.cam_from_world.inverse());
}

std::string export_stream_tum(const std::vector<StreamRecord>& records) {
  std::string text = stream_tum_head();
  std::optional<bool> by_index;
  std::optional<std::int64_t> before;
  for (const StreamRecord& record : records) {
    if (record.view && !by_index) by_index = !record.time_ns;
    text += stream_tum_line(record, by_index.value_or(false), before);
  }
  return text;
}

std::string export_stream_csv(const std::vector<StreamRecord>& records, const CsvOptions& options) {
  CsvTable table(options.separator);
  table.add(csv_names());
  for (const StreamRecord& record : records) {
    std::vector<std::string> cells{utf8_text(record.name), std::to_string(record.index),
                                   record.time_ns ? std::to_string(*record.time_ns) : "",
                                   std::string(stream_status_name(record.status)),
                                   record.reason ? std::string(reason_name(*record.reason)) : ""};
    if (record.view) {
      for (std::string& cell : csv_view_cells(*record.view)) cells.push_back(std::move(cell));
    }
    cells.resize(csv_names().size() - 1);
    cells.emplace_back("arbitrary");
    table.add(cells);
  }
  return table.text();
}

ColmapModel stream_colmap(const std::vector<StreamRecord>& records,
                          std::span<const CloudPoint> points, const Eigen::Vector3d& offset) {
  ColmapModel model;
  std::map<std::uint32_t, std::size_t> image_of_frame;
  for (const StreamRecord& record : records) {
    if (!record.view) continue;
    const auto id = static_cast<std::uint32_t>(record.index);
    model.cameras[CameraId(id)] = record.view->view.source_camera;
    ColmapImage image;
    image.id = ImageId(id);
    image.camera = CameraId(id);
    image.name = utf8_text(record.name);
    image.cam_from_world = record.view->view.cam_from_world;
    image_of_frame[id] = model.images.size();
    model.images.push_back(std::move(image));
  }
  for (const CloudPoint& cloud : points) {
    ColmapPoint point;
    point.id = PointId(model.points.size() + 1);
    point.xyz = cloud.xyz.cast<double>() + offset;
    std::copy(cloud.rgb.begin(), cloud.rgb.end(), point.rgb);
    if (const auto found = image_of_frame.find(cloud.frame); found != image_of_frame.end()) {
      ColmapImage& image = model.images[found->second];
      const Camera& camera = model.cameras[image.camera];
      if (const auto pixel = camera.project(image.cam_from_world * point.xyz)) {
        point.track.push_back({image.id, static_cast<std::uint32_t>(image.observations.size())});
        image.observations.push_back({*pixel, point.id});
      }
    }
    model.points.push_back(std::move(point));
  }
  return model;
}

std::string export_cloud_ply(const std::filesystem::path& cloud) {
  const MappedFile file(cloud);
  const CloudHeader header = read_cloud(cloud);  // without points that a loss of power took
  return cloud_header_text(header) +
         std::string(file.text().substr(kCloudHeaderBytes, header.points * kCloudPointBytes));
}

}  // namespace skyfix
