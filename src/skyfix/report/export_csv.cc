#include <cmath>
#include <functional>

#include "skyfix/report/csv_table.h"
#include "skyfix/report/export.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

// One column: its name and how a cell is made.
struct Column {
  std::string name;
  std::function<std::string(const Record&)> cell;
};

// A cell that needs the pose; empty without one.
Column pose_column(const std::string& name,
                   const std::function<std::optional<double>(const FixPose&)>& value) {
  return {name, [value](const Record& record) {
            return record.fix.pose ? csv_number(value(*record.fix.pose)) : std::string();
          }};
}

// sigma of one row of a covariance.
std::optional<double> sigma(const std::optional<Eigen::Matrix<double, 6, 6>>& covariance, int row) {
  if (!covariance || !((*covariance)(row, row) >= 0)) return std::nullopt;
  return std::sqrt((*covariance)(row, row));
}

void add_pose_columns(std::vector<Column>& columns) {
  const auto add = [&](const std::string& name, auto value) {
    columns.push_back(pose_column(name, value));
  };
  const char* quaternion[] = {"qw", "qx", "qy", "qz"};
  for (int i = 0; i < 4; ++i) {
    add(quaternion[i], [i](const FixPose& pose) -> std::optional<double> {
      const Eigen::Quaterniond& q = pose.cam_from_world.rotation;
      const double wxyz[] = {q.w(), q.x(), q.y(), q.z()};
      return q.w() < 0 ? -wxyz[i] : wxyz[i];
    });
  }
  const char* axes[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) {
    add(std::string("t") + axes[i], [i](const FixPose& pose) -> std::optional<double> {
      return pose.cam_from_world.translation[i];
    });
  }
  const char* enu[] = {"east", "north", "up"};
  for (int i = 0; i < 3; ++i) {
    add(enu[i], [i](const FixPose& pose) -> std::optional<double> {
      return pose.position_enu ? std::optional((*pose.position_enu)[i]) : std::nullopt;
    });
  }
  const auto wgs84 = [&](const std::string& name, double Wgs84::*member) {
    add(name, [member](const FixPose& pose) -> std::optional<double> {
      return pose.position_wgs84 ? std::optional((*pose.position_wgs84).*member) : std::nullopt;
    });
  };
  wgs84("lat", &Wgs84::latitude_deg);
  wgs84("lon", &Wgs84::longitude_deg);
  wgs84("h_ellipsoid", &Wgs84::h_ellipsoid);
  const auto angle = [&](const std::string& name, double GimbalAngles::*member) {
    add(name, [member](const FixPose& pose) -> std::optional<double> {
      return pose.orientation_ypr_ned ? std::optional((*pose.orientation_ypr_ned).*member)
                                      : std::nullopt;
    });
  };
  angle("yaw_deg", &GimbalAngles::yaw_deg);
  angle("pitch_deg", &GimbalAngles::pitch_deg);
  angle("roll_deg", &GimbalAngles::roll_deg);
  for (int i = 0; i < 3; ++i) {
    add(std::string("sigma_") + enu[i],
        [i](const FixPose& pose) { return sigma(pose.covariance_enu, i); });
  }
}

std::vector<Column> all_columns() {
  std::vector<Column> columns = {
      {"name", [](const Record& r) { return utf8_text(r.fix.name); }},
      {"index", [](const Record& r) { return std::to_string(r.fix.index); }},
      {"time_ns", [](const Record& r) { return r.time_ns ? std::to_string(*r.time_ns) : ""; }},
      {"status", [](const Record& r) { return std::string(fix_status_name(r.fix.status)); }},
      {"reason",
       [](const Record& r) { return r.fix.reason ? std::string(reason_name(*r.fix.reason)) : ""; }},
  };
  add_pose_columns(columns);
  const std::vector<Column> evidence = {
      {"inliers", [](const Record& r) { return std::to_string(r.fix.inliers); }},
      {"matches", [](const Record& r) { return std::to_string(r.fix.matches); }},
      {"coverage", [](const Record& r) { return csv_number(r.fix.coverage); }},
      {"reprojection_px", [](const Record& r) { return csv_number(r.fix.reprojection_px); }},
      {"camera_source",
       [](const Record& r) { return std::string(camera_source_name(r.fix.camera_source)); }},
      {"turn", [](const Record& r) { return std::to_string(r.fix.turn); }},
      {"selected_source",
       [](const Record& r) { return utf8_text(r.fix.retrieval.selected_source); }},
  };
  columns.insert(columns.end(), evidence.begin(), evidence.end());
  return columns;
}

}  // namespace

std::string export_csv(const std::vector<Record>& records, const CsvOptions& options) {
  const std::vector<Column> columns = all_columns();
  CsvTable table(options.separator);
  std::vector<std::string> cells;
  for (const Column& column : columns) cells.push_back(column.name);
  table.add(cells);
  for (const Record& record : records) {
    cells.clear();
    for (const Column& column : columns) cells.push_back(column.cell(record));
    table.add(cells);
  }
  return table.text();
}

}  // namespace skyfix
