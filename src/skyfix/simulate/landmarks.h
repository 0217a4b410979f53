// Which places of the scene become the model's points: those where a detector fires again and
// again in the rendered photos, so that real features can be tied to the model's observations.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "skyfix/image/image.h"
#include "skyfix/simulate/simulate.h"

namespace skyfix::sim {

// Surface points (exact, by ray casting) under the strongest blobs of a map photo.
std::vector<Eigen::Vector3d> detect_surface_points(const Scene& scene, const Camera& camera,
                                                   const Rigid3& cam_from_enu, const Image& rgb);

// Merges detections of one place from several photos (within radius_m) and chooses `count` places
// (all, where there are fewer): evenly over the ground, in each spot those that most photos detect.
// A merged place lies on the surface. The order is fixed by that of the detections.
std::vector<Eigen::Vector3d> choose_landmarks(
    const Scene& scene, const std::vector<std::vector<Eigen::Vector3d>>& by_photo, double radius_m,
    std::size_t count);

}  // namespace skyfix::sim
