#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/solve/absolute_pose.h"
#include "skyfix/solve/polish.h"

namespace skyfix {
namespace {

using solve::Consensus;
using solve::PairSet;
using solve::View;

// A frame and what its own pose explains.
struct SeenFrame {
  const WindowFrame* frame;
  View view;
  PairSet pairs;
  Consensus seen;

  std::uint32_t group(std::uint32_t place) const { return frame->pairs[pairs.source[place]].group; }
};

struct Window {
  solve::BundleProblem problem;
  std::unordered_map<std::uint32_t, int> shared;  // group -> place among the shared points
};

// Frames whose pairs determine their pose; others would make the joint problem singular.
std::vector<SeenFrame> usable_frames(std::span<const WindowFrame> frames,
                                     const PoseOptions& options) {
  std::vector<SeenFrame> out;
  for (const WindowFrame& frame : frames) {
    SeenFrame made{
        &frame, solve::view_from_pose(frame.cam_from_map), solve::usable_pairs(frame.pairs), {}};
    if (!made.view.finite()) continue;
    made.seen = consensus(made.pairs, frame.camera, made.view, options.max_error_px);
    if (made.seen.count() >= options.min_inliers) out.push_back(std::move(made));
  }
  return out;
}

// Map points that at least two frames see; each takes its prior from the first of them.
void find_shared_points(const std::vector<SeenFrame>& frames, Window* window) {
  std::unordered_map<std::uint32_t, const SeenFrame*> first_seen_by;
  for (const SeenFrame& frame : frames) {
    for (const std::uint32_t i : frame.seen.inliers) {
      const std::uint32_t group = frame.group(i);
      const auto [entry, is_new] = first_seen_by.try_emplace(group, &frame);
      if (is_new || entry->second == &frame) continue;
      auto& priors = window->problem.prior_points;
      if (window->shared.try_emplace(group, static_cast<int>(priors.size())).second) {
        priors.push_back(frame.pairs.point[i]);
      }
    }
  }
  window->problem.shared_points = window->problem.prior_points;
}

Window make_window(const std::vector<SeenFrame>& frames, double point_sigma,
                   const PoseOptions& options) {
  Window window;
  window.problem.point_sigma = point_sigma;
  window.problem.refine_focal = options.refine_focal;
  find_shared_points(frames, &window);
  for (const SeenFrame& frame : frames) {
    solve::BundleFrame made{frame.frame->camera, frame.view, {}};
    for (const std::uint32_t i : frame.seen.inliers) {
      const auto entry = window.shared.find(frame.group(i));
      const int place = entry == window.shared.end() ? -1 : entry->second;
      made.observations.push_back(
          {frame.pairs.pixel[i], frame.pairs.point[i], frame.pairs.sigma_px[i], place});
    }
    window.problem.frames.push_back(std::move(made));
  }
  window.problem.loss_scale = fitting_loss_scale(window.problem, options.refine_scale_px);
  return window;
}

void require_point_sigma(double point_sigma) {
  if (std::isfinite(point_sigma) && point_sigma > 0) return;
  throw Error(Reason::bad_option, "the sigma of the map's points is " +
                                      std::to_string(point_sigma) +
                                      "; it must be positive (map units)");
}

}  // namespace

PoseEstimate refine_window(std::span<const WindowFrame> frames, double point_sigma,
                           const PoseOptions& options) {
  options.validate();
  require_point_sigma(point_sigma);
  if (frames.empty()) return {};
  const WindowFrame& newest = frames.back();
  const PoseEstimate none = solve::no_estimate(newest.pairs.size(), newest.camera);
  std::vector<SeenFrame> seen = usable_frames(frames, options);
  if (seen.empty() || seen.back().frame != &newest) return none;
  Window window = make_window(seen, point_sigma, options);
  if (!adjust(&window.problem)) return none;

  // The newest frame is judged by the points where the window has put them.
  SeenFrame& last = seen.back();
  for (std::uint32_t i = 0; i < last.pairs.size(); ++i) {
    const auto entry = window.shared.find(last.group(i));
    if (entry != window.shared.end()) {
      last.pairs.point[i] = window.problem.shared_points[entry->second];
    }
  }
  const solve::BundleFrame& refined = window.problem.frames.back();
  solve::Polished pose{refined.camera, refined.view,
                       consensus(last.pairs, refined.camera, refined.view, options.max_error_px)};
  if (pose.seen.count() < options.min_inliers) return none;
  return describe(last.pairs, newest.pairs.size(), pose, window.problem);
}

}  // namespace skyfix
