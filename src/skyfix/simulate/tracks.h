// From surface points to an exact COLMAP model: which photos see a point is asked of the scene, and
// where they see it is the exact projection.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "skyfix/simulate/simulate.h"

namespace skyfix::sim {

// Pixel of the point in a photo that truly sees it: in the picture, with nothing of the scene
// before it.
std::optional<Eigen::Vector2d> observe(const Scene& scene, const Camera& camera,
                                       const Rigid3& cam_from_enu, const Eigen::Vector3d& point);

// Cameras, images (ids from 1, in flight order) and those of the points that two photos or more
// see (ids from 1); at most `limit` of them, the first ones.
ColmapModel build_model(const Scene& scene, const SimulatedFlight& flight,
                        const std::vector<Eigen::Vector3d>& surface_points, std::size_t limit);

// Points drawn evenly over the ground under the map photos, on whatever surface is uppermost.
std::vector<Eigen::Vector3d> random_surface_points(const SimulateOptions& options,
                                                   const Scene& scene, std::size_t count);

}  // namespace skyfix::sim
