// The per-frame pipeline: photo -> candidates -> matches -> pose -> verdict -> Fix. It keeps
// nothing from frame to frame; what a run remembers (TrackState, the descriptor cache, the
// matcher's references on the device) is handed to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "skyfix/features/local_features.h"
#include "skyfix/frames/frame_source.h"
#include "skyfix/frames/input_list.h"
#include "skyfix/image/image.h"
#include "skyfix/image/metadata.h"
#include "skyfix/localize/fix.h"
#include "skyfix/localize/heading.h"
#include "skyfix/localize/map_matcher.h"
#include "skyfix/localize/match_context.h"
#include "skyfix/localize/query_camera.h"
#include "skyfix/localize/track_state.h"
#include "skyfix/localize/verdict.h"
#include "skyfix/map/map_folder.h"
#include "skyfix/retrieval/candidates.h"
#include "skyfix/retrieval/global_descriptor.h"
#include "skyfix/solve/absolute_pose.h"

namespace skyfix {

// A frame is matched with at most this many times vpr_top_k map images.
inline constexpr int kPoolFactor = 3;

struct LocalizeOptions {
  FeatureOptions query_features;  // of SIFT
  double max_megapixels = 400;
  int vpr_top_k = 5;           // candidates of each source that are used first; 3 x k are asked for
  int vpr_query_resize = 512;  // long side of the picture the global descriptor sees, px
  CandidatePolicy policy = CandidatePolicy::retrieval_first;
  int temporal_candidates = 20;   // at most; 0 = off
  bool prior_candidates = false;  // photos' GPS proposes candidates too
  double prior_radius_m = 150;
  int match_max_points = 1024;  // best pairs kept after mutual filtering; 0 = all
  PoseOptions pose;
  GuidedOptions guided;
  VerdictOptions verdict;
  int ba_window = 0;  // frames refined jointly, the newest included; 0 = off
  std::uint64_t seed = 1;
  // Throws Error(bad_option) naming the option, its value and the range allowed.
  void validate() const;
};

// What a run retrieves and matches with; what is null is SIFT's.
struct LocalizeMethods {
  std::unique_ptr<MapMatcher> matcher;
  std::unique_ptr<GlobalDescriptor> retriever;
};

class Localizer {
 public:
  // `map`, `cache` and what `matching` and `methods` refer to must outlive it. Throws
  // Error(missing_in_map) when the map lacks the features or places asked for.
  Localizer(const Map& map, const LocalizeOptions& options, GivenCameras cameras,
            const DescriptorCache& cache, const MatchContext& matching,
            LocalizeMethods methods = {});

  // A photo is decoded here, as it is stored; a frame of a video brings its pixels and metadata.
  // Never throws for what is wrong with a photo, nor for lack of memory: every such problem becomes
  // the Fix's status and reason. Throws DeviceFailure, after which the run should end, and
  // AllocationForbidden.
  // `pairs`, if given, receives the pairs that the final pose rests on (for joint refinement).
  Fix localize(const SourceFrame& source, const TrackState& track,
               std::vector<PointPair>* pairs = nullptr) const;
  Fix localize(const InputPhoto& photo, const TrackState& track,
               std::vector<PointPair>* pairs = nullptr) const;

  // Replaces the fix's pose by the joint refinement of `frames` (the newest is the fix's own).
  void refine_with_window(Fix& fix, std::span<const WindowFrame> frames) const;

  const Map& map() const { return map_; }
  const LocalizeOptions& options() const { return options_; }

 private:
  struct Frame;  // what the stages hand to each other
  void read_photo(Frame& frame) const;
  void decode(Frame& frame) const;
  void resolve_camera(Frame& frame) const;
  void retrieve(Frame& frame) const;
  void extract(Frame& frame) const;
  std::vector<HeadingHint> heading_hints(const Frame& frame) const;
  void choose_turn(Frame& frame) const;
  struct Attempt;
  Attempt attempt(Frame& frame, std::vector<TurnedCandidate> turned) const;
  bool convinces(const Attempt& attempt) const;
  PoseOptions pose_options(const Frame& frame) const;
  std::span<const std::uint32_t> candidates_matched(const Frame& frame) const;
  void match_and_solve(Frame& frame) const;
  void refine_guided(Frame& frame, const PoseOptions& pose) const;
  void decide(Frame& frame) const;
  std::vector<float> query_descriptors(Frame& frame) const;
  void set_pose(Fix& fix, const PoseEstimate& estimate) const;
  void count_candidates(Frame& frame) const;
  void weigh_viewpoint(const Frame& frame, VerdictInput& input) const;
  void compare_with_gps(Frame& frame) const;

  const Map& map_;
  LocalizeOptions options_;
  GivenCameras cameras_;
  const DescriptorCache& cache_;
  MatchContext matching_;
  std::unique_ptr<MapMatcher> matcher_;
  std::unique_ptr<GlobalDescriptor> global_;
  MapPlaces places_;
  double scene_scale_ = 1;  // median distance from map cameras to their points, map units
};

}  // namespace skyfix
