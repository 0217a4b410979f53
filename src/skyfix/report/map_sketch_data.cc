#include "skyfix/report/map_sketch_data.h"

#include <algorithm>

#include "skyfix/report/name_matching.h"

namespace skyfix {
namespace {

constexpr std::size_t kMaxPoints = 6000;

// From the map's frame to the plane of the drawing.
struct Projection {
  Similarity3 drawn_from_map;
  int x = 0;  // axes of the drawn frame that point right and up
  int y = 1;

  Eigen::Vector2d position(const Eigen::Vector3d& in_map) const {
    return plane(drawn_from_map * in_map);
  }
  Eigen::Vector2d direction(const Eigen::Vector3d& in_map) const {
    return plane(drawn_from_map.rotation * in_map);
  }
  Eigen::Vector2d plane(const Eigen::Vector3d& drawn) const { return {drawn[x], drawn[y]}; }
  Eigen::Matrix2d covariance(const Eigen::Matrix<double, 6, 6>& full) const {
    Eigen::Matrix2d block;
    block << full(x, x), full(x, y), full(y, x), full(y, y);
    return block;
  }
};

std::vector<std::size_t> sampled_points(const Map& map) {
  const std::size_t step = (map.point_count() + kMaxPoints - 1) / kMaxPoints;
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < map.point_count(); i += step) sample.push_back(i);
  return sample;
}

// Length that holds the middle nine tenths of the points along an axis.
double spread(const Map& map, const std::vector<std::size_t>& sample, int axis) {
  if (sample.empty()) return 0;
  std::vector<double> values;
  for (const std::size_t i : sample) values.push_back(map.point(i)[axis]);
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 20;
  return values[values.size() - 1 - cut] - values[cut];
}

// Along the axis of least spread, from above.
Projection projection_without_georegistration(const Map& map,
                                              const std::vector<std::size_t>& sample) {
  int along = 2;
  for (const int axis : {0, 1}) {
    if (spread(map, sample, axis) < spread(map, sample, along)) along = axis;
  }
  // Down is where a camera looks, or below its picture when it looks ahead.
  double down = 0;
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    down += (map.cam_from_map(i).rotation.conjugate() * Eigen::Vector3d(0, 1, 1))[along];
  }
  Projection projection;
  projection.x = (along + 1) % 3;
  projection.y = (along + 2) % 3;
  if (down > 0) std::swap(projection.x, projection.y);
  return projection;
}

MapSketch::Frame sketched_frame(const Fix& fix, const Projection& projection, bool georegistered) {
  MapSketch::Frame frame;
  frame.name = fix.name;
  frame.status = fix.status;
  if (fix.reason) frame.reason = reason_name(*fix.reason);
  if (!fix.pose) return frame;
  const Rigid3& pose = fix.pose->cam_from_world;
  frame.position = projection.position(pose.centre());
  // The picture's top for a camera that looks down, where it looks for one that looks ahead.
  frame.heading = projection.direction(pose.rotation.conjugate() * Eigen::Vector3d(0, -1, 1));
  const auto& covariance = georegistered ? fix.pose->covariance_enu : fix.pose->covariance_map;
  if (covariance) frame.covariance = projection.covariance(*covariance);
  return frame;
}

void add_references(const Reference& reference, const Projection& projection, MapSketch& sketch) {
  std::vector<std::string> frames;
  std::vector<std::string> references;
  for (const auto& frame : sketch.frames) frames.push_back(frame.name);
  for (const ReferencePose& pose : reference.queries) references.push_back(pose.name);
  const NameMatching names = match_names(frames, references);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!names.b_of_a[i]) continue;
    const ReferencePose& truth = reference.queries[*names.b_of_a[i]];
    sketch.frames[i].reference = projection.position(truth.cam_from_world.centre());
  }
}

}  // namespace

MapSketch make_map_sketch(const Map& map, const std::vector<Record>& records,
                          const Reference* reference, const std::string& title) {
  const bool georegistered = map.georegistration().known();
  const std::vector<std::size_t> sample = sampled_points(map);
  const Projection projection = georegistered ? Projection{map.georegistration().enu_from_map, 0, 1}
                                              : projection_without_georegistration(map, sample);
  MapSketch sketch;
  sketch.title = title;
  sketch.north_up = georegistered;
  sketch.unit = georegistered ? "m" : "map units";
  sketch.x_axis = std::string(1, "xyz"[projection.x]);
  sketch.y_axis = std::string(1, "xyz"[projection.y]);
  const std::span<const std::uint8_t> rgb = map.point_rgb();
  for (const std::size_t i : sample) {
    sketch.points.push_back(
        {projection.position(map.point(i)), {rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]}});
  }
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    sketch.map_cameras.push_back(projection.position(map.cam_from_map(i).centre()));
  }
  for (const Record& record : records) {
    sketch.frames.push_back(sketched_frame(record.fix, projection, georegistered));
  }
  if (reference != nullptr) add_references(*reference, projection, sketch);
  return sketch;
}

}  // namespace skyfix
