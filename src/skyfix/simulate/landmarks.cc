#include "skyfix/simulate/landmarks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "skyfix/simulate/blobs.h"

namespace skyfix::sim {
namespace {

constexpr std::size_t kBlobsPerMegapixel = 6000;
constexpr double kSpotM = 6;  // side of the squares that share the points out

struct Cluster {
  Eigen::Vector3d first;
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  std::uint32_t photos = 0;      // that detect it
  std::uint32_t last_photo = 0;  // counted once a photo
};

std::uint64_t cell_key(const Eigen::Vector2d& ground, double cell_m, int dx = 0, int dy = 0) {
  const auto x = std::uint32_t(std::int32_t(std::floor(ground.x() / cell_m)) + dx);
  const auto y = std::uint32_t(std::int32_t(std::floor(ground.y() / cell_m)) + dy);
  return std::uint64_t(x) << 32 | y;
}

// Greedy clustering over a hash grid whose cells are one radius wide.
class Clusters {
 public:
  explicit Clusters(double radius_m) : radius_m_(radius_m) {}

  void add(const Eigen::Vector3d& point, std::uint32_t photo) {
    Cluster* cluster = nearest(point);
    if (!cluster) {
      cells_[cell_key(point.head<2>(), radius_m_)].push_back(std::uint32_t(clusters_.size()));
      clusters_.push_back({point, point.head<2>(), 1, photo});
    } else if (cluster->last_photo != photo) {
      cluster->sum += point.head<2>();
      ++cluster->photos;
      cluster->last_photo = photo;
    }
  }

  const std::vector<Cluster>& all() const { return clusters_; }

 private:
  Cluster* nearest(const Eigen::Vector3d& point) {
    Cluster* best = nullptr;
    double best_distance = radius_m_;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const auto cell = cells_.find(cell_key(point.head<2>(), radius_m_, dx, dy));
        if (cell == cells_.end()) continue;
        for (const std::uint32_t index : cell->second) {
          const double distance = (clusters_[index].first - point).norm();
          if (distance >= best_distance) continue;
          best_distance = distance;
          best = &clusters_[index];
        }
      }
    }
    return best;
  }

  double radius_m_;
  std::vector<Cluster> clusters_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> cells_;
};

// The detections' mean, put onto the surface; the first detection where the mean falls off an edge.
Eigen::Vector3d place_of(const Scene& scene, const Cluster& cluster, double radius_m) {
  const Eigen::Vector2d mean = cluster.sum / cluster.photos;
  const Eigen::Vector3d place(mean.x(), mean.y(), scene.height(mean.x(), mean.y()));
  return (place - cluster.first).norm() < radius_m ? place : cluster.first;
}

// Spots take turns, each giving the place that most photos detect next, so that the rim of the map,
// which fewer photos see, gets its share. Places detected once come last.
std::vector<const Cluster*> in_turns(const std::vector<Cluster>& clusters) {
  std::vector<const Cluster*> order;
  for (const Cluster& cluster : clusters) order.push_back(&cluster);
  std::stable_sort(order.begin(), order.end(),
                   [](const Cluster* a, const Cluster* b) { return a->photos > b->photos; });
  std::unordered_map<std::uint64_t, std::size_t> taken;  // from each spot
  std::unordered_map<const Cluster*, std::size_t> turn;
  for (const Cluster* cluster : order) {
    turn[cluster] = taken[cell_key(cluster->first.head<2>(), kSpotM)]++;
  }
  std::stable_sort(order.begin(), order.end(), [&](const Cluster* a, const Cluster* b) {
    const auto rank = [&](const Cluster* c) { return std::pair(c->photos < 2, turn.at(c)); };
    return rank(a) < rank(b);
  });
  return order;
}

}  // namespace

std::vector<Eigen::Vector3d> detect_surface_points(const Scene& scene, const Camera& camera,
                                                   const Rigid3& cam_from_enu, const Image& rgb) {
  const std::size_t area = std::size_t(rgb.width) * rgb.height;
  const std::size_t limit = 200 + area * kBlobsPerMegapixel / 1'000'000;
  const Eigen::Vector3d centre = cam_from_enu.centre();
  std::vector<Eigen::Vector3d> points;
  for (const Blob& blob : detect_blobs(to_grey(rgb), limit)) {
    const auto ray = camera.unproject(blob.pixel);
    Eigen::Vector3d hit;
    if (ray && scene.cast(centre, cam_from_enu.rotation.conjugate() * *ray, &hit)) {
      points.push_back(hit);
    }
  }
  return points;
}

std::vector<Eigen::Vector3d> choose_landmarks(
    const Scene& scene, const std::vector<std::vector<Eigen::Vector3d>>& by_photo, double radius_m,
    std::size_t count) {
  Clusters clusters(radius_m);
  for (std::uint32_t photo = 0; photo < by_photo.size(); ++photo) {
    for (const Eigen::Vector3d& point : by_photo[photo]) clusters.add(point, photo);
  }
  std::vector<Eigen::Vector3d> landmarks;
  for (const Cluster* cluster : in_turns(clusters.all())) {
    if (landmarks.size() >= count) break;
    landmarks.push_back(place_of(scene, *cluster, radius_m));
  }
  return landmarks;
}

}  // namespace skyfix::sim
