#include "skyfix/localize/localizer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/base/hash.h"
#include "skyfix/localize/feature_matcher.h"
#include "skyfix/localize/heading.h"
#include "skyfix/localize/localizer_frame.h"
#include "skyfix/localize/median.h"

namespace skyfix {
namespace {

constexpr int kMinSidePx = 64;
constexpr int kMinMatches = 6;

void require(bool allowed, const std::string& option, double value, const std::string& range) {
  if (!allowed) {
    throw Error(Reason::bad_option, fmt::format("{} is {}; allowed is {}", option, value, range));
  }
}

// The run's seed mixed with the frame's name: frames do not depend on each other's draws.
std::uint64_t frame_seed(std::uint64_t run_seed, const std::string& name) {
  const std::string hex = sha1_hex(name).substr(0, 15);
  return run_seed ^ std::stoull(hex, nullptr, 16);
}

double median_depth(const Map& map) {
  std::vector<double> depths;
  const auto offset = map.observation_offset();
  const auto point = map.observation_point();
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    const Rigid3 cam_from_map = map.cam_from_map(i);
    const std::uint64_t step = std::max<std::uint64_t>(1, (offset[i + 1] - offset[i]) / 20);
    for (std::uint64_t k = offset[i]; k < offset[i + 1]; k += step) {
      depths.push_back((cam_from_map * map.point(point[k])).z());
    }
    if (depths.size() > 4000) break;
  }
  if (depths.empty()) return 1;
  return std::max(1e-9, median_of(std::move(depths)));
}

int distinct_points(std::span<const MapPair> pairs) {
  std::set<std::uint32_t> points;
  for (const MapPair& pair : pairs) points.insert(pair.point);
  return static_cast<int>(points.size());
}

}  // namespace

void LocalizeOptions::validate() const {
  require(vpr_top_k >= 1 && vpr_top_k <= 1000, "--vpr-top-k", vpr_top_k, "1 to 1000");
  require(vpr_query_resize >= 64 && vpr_query_resize <= 8192, "--vpr-query-resize",
          vpr_query_resize, "64 to 8192 px");
  require(temporal_candidates >= 0 && temporal_candidates <= 1000, "--temporal-candidates",
          temporal_candidates, "0 (off) to 1000");
  require(max_megapixels > 0 && max_megapixels <= 100000, "--max-megapixels", max_megapixels,
          "more than 0 to 100000");
  require(match_max_points >= 0, "--match-max-points", match_max_points, "0 (all) or more");
  require(ba_window == 0 || (ba_window >= 2 && ba_window <= 50), "--ba-window", ba_window,
          "0 (off) or 2 to 50");
  require(query_features.max_features >= 0, "--max-features", query_features.max_features,
          "0 (all) or more");
  require(query_features.max_long_side_px == 0 || query_features.max_long_side_px >= 64,
          "--image-size", query_features.max_long_side_px, "0 (as it is) or 64 px or more");
  require(prior_radius_m > 0, "--prior-radius", prior_radius_m, "more than 0 m");
  pose.validate();
  verdict.validate();
}

Localizer::Localizer(const Map& map, const LocalizeOptions& options, GivenCameras cameras,
                     const DescriptorCache& cache, const MatchContext& matching,
                     LocalizeMethods methods)
    : map_(map),
      options_(options),
      cameras_(std::move(cameras)),
      cache_(cache),
      matching_(matching),
      matcher_(std::move(methods.matcher)),
      global_(std::move(methods.retriever)),
      scene_scale_(median_depth(map)) {
  options_.validate();
  if (!matcher_) {
    matcher_ = make_feature_matcher(map, make_local_features("sift", options.query_features),
                                    matching, options.guided.min_score);
  }
  places_ = map.places(global_ ? std::string(global_->kind()) : "vlad-sift");
  if (!global_) {
    global_ =
        make_vlad_descriptor(make_local_features("sift"), places_.vocabulary, places_.clusters,
                             places_.vocabulary_hash, options.vpr_query_resize);
  }
}

Fix Localizer::localize(const InputPhoto& photo, const TrackState& track,
                        std::vector<PointPair>* pairs) const {
  SourceFrame source;
  source.name = photo.name;
  source.index = photo.index;
  source.file = photo.path;
  return localize(source, track, pairs);
}

Fix Localizer::localize(const SourceFrame& source, const TrackState& track,
                        std::vector<PointPair>* pairs) const {
  Frame frame(source, track);
  frame.fix.name = source.name;
  frame.fix.index = source.index;
  frame.fix.retrieval.policy = options_.policy;
  using Stage = void (Localizer::*)(Frame&) const;
  static constexpr std::pair<const char*, Stage> kStages[] = {
      {"read", &Localizer::read_photo},       {"camera", &Localizer::resolve_camera},
      {"features", &Localizer::extract},      {"retrieve", &Localizer::retrieve},
      {"solve", &Localizer::match_and_solve}, {"verdict", &Localizer::decide},
  };
  const StageTimer total(frame.fix.telemetry, "total");
  const FrameMemory memory(matching_);
  try {
    for (const auto& [name, stage] : kStages) {
      const StageTimer timer(frame.fix.telemetry, name);
      (this->*stage)(frame);
      if (frame.done) break;
    }
  } catch (const Error& error) {
    const bool refused = error.reason() == Reason::camera_mismatch;
    fail(frame.fix, refused ? FixStatus::rejected : FixStatus::failed, error.reason(),
         error.message());
  } catch (const DeviceFailure&) {
    throw;
  } catch (const AllocationForbidden&) {
    throw;
  } catch (const std::bad_alloc&) {
    fail(frame.fix, FixStatus::failed, Reason::out_of_memory, "there was not enough memory");
  } catch (const std::exception& error) {
    fail(frame.fix, FixStatus::failed, Reason::internal, error.what());
  }
  memory.write(frame.fix.telemetry);
  if (pairs != nullptr) *pairs = std::move(frame.final_pairs);
  return std::move(frame.fix);
}

// The size and what is known beside the pixels.
void Localizer::read_photo(Frame& frame) const {
  const SourceFrame& source = frame.source;
  if (source.failure) {
    frame.stop(FixStatus::failed, *source.failure, source.failure_text);
    return;
  }
  const bool is_file = !source.file.empty();
  const ImageInfo info =
      is_file ? probe_image(source.file) : ImageInfo{source.pixels.width, source.pixels.height, ""};
  frame.fix.image_width = info.width;
  frame.fix.image_height = info.height;
  if (std::min(info.width, info.height) < kMinSidePx) {
    frame.stop(FixStatus::failed, Reason::image_too_small,
               fmt::format("{} x {} px; both sides need at least {} px", info.width, info.height,
                           kMinSidePx));
    return;
  }
  if (!is_file) {
    frame.metadata = source.metadata;
    return;
  }
  frame.metadata = read_metadata(source.file);
  if (frame.metadata.orientation.value_or(1) != 1) {
    frame.fix.warnings.push_back(
        fmt::format("EXIF orientation {}: pixels are used as stored", *frame.metadata.orientation));
  }
}

void Localizer::resolve_camera(Frame& frame) const {
  frame.camera = resolve_query_camera(frame.source.name, frame.fix.image_width,
                                      frame.fix.image_height, frame.metadata, cameras_, map_);
  frame.fix.camera_source = frame.camera.source;
  frame.fix.camera = frame.camera.hypotheses.front();
  frame.fix.warnings.insert(frame.fix.warnings.end(), frame.camera.warnings.begin(),
                            frame.camera.warnings.end());
  decode(frame);  // after the cheap refusals
}

void Localizer::decode(Frame& frame) const {
  const SourceFrame& source = frame.source;
  const bool colour = matcher_->wants_colour() || global_->wants_colour();
  const bool grey = !matcher_->wants_colour() || !global_->wants_colour();
  if (source.file.empty()) {
    if (grey) frame.grey = to_grey(source.pixels);
    if (colour) frame.colour = source.pixels;
    return;
  }
  DecodeOptions options{.grey = true, .max_megapixels = options_.max_megapixels};
  if (grey) frame.grey = decode_image(source.file, options);
  options.grey = false;
  if (colour) frame.colour = decode_image(source.file, options);
}

// One row, or one for each of the four turns where the retriever would not know a turned place.
std::vector<float> Localizer::query_descriptors(Frame& frame) const {
  RetrievalReport& report = frame.fix.retrieval;
  const int resize_px = options_.vpr_query_resize;
  const int turns = global_->turn_matters() ? 4 : 1;
  // Frames of a video are no files that a descriptor could be kept for.
  const std::filesystem::path& file = frame.source.file;
  auto found = file.empty() ? DescriptorCache::Lookup{DescriptorCache::Outcome::off, {}}
                            : cache_.find(file, resize_px, turns * global_->dimension());
  frame.fix.telemetry.query_descriptor_cache = cache_outcome_name(found.outcome);
  if (found.outcome == DescriptorCache::Outcome::hit) {
    report.query_descriptor_source = "cache";
    return std::move(found.descriptor);
  }
  report.query_descriptor_source = global_->kind();
  const Image small = shrink_to(global_->wants_colour() ? frame.colour : frame.grey, resize_px);
  std::vector<float> descriptors;
  for (int quarters = 0; quarters < turns; ++quarters) {
    const std::vector<float> row = global_->compute(quarters > 0 ? turn(small, quarters) : small);
    descriptors.insert(descriptors.end(), row.begin(), row.end());
  }
  if (found.outcome != DescriptorCache::Outcome::off) {
    if (!file.empty()) cache_.store(file, resize_px, descriptors);
  }
  return descriptors;
}

void Localizer::retrieve(Frame& frame) const {
  const int pool = kPoolFactor * options_.vpr_top_k;
  std::vector<ProposalList> lists;
  lists.push_back(search_any_turn(places_, query_descriptors(frame), global_->dimension(), pool));
  if (const auto expected = frame.track.expected_pose(frame.source.index);
      expected && options_.temporal_candidates > 0) {
    lists.push_back(temporal_candidates(map_, *expected, options_.temporal_candidates));
  }
  if (const auto position = frame.metadata.position(); position && options_.prior_candidates) {
    lists.push_back(prior_candidates(map_, *position, options_.prior_radius_m, pool));
  }
  const Fusion fusion = fuse_candidates(map_, lists, {options_.policy, pool, options_.vpr_top_k});

  RetrievalReport& report = frame.fix.retrieval;
  for (const ProposalList& list : lists) {
    const int count = static_cast<int>(list.proposals.size());
    if (list.source == CandidateSource::faiss) report.num_faiss_proposed = count;
    if (list.source == CandidateSource::temporal) report.num_temporal_proposed = count;
    if (list.source == CandidateSource::prior) report.num_prior_proposed = count;
  }
  report.num_faiss_candidates = fusion.num_faiss_candidates;
  report.num_temporal_candidates = fusion.num_temporal_candidates;
  report.num_prior_candidates = fusion.num_prior_candidates;
  for (const Candidate& candidate : fusion.candidates) {
    report.candidates.push_back({candidate, 0, 0});
    frame.candidate_images.push_back(candidate.image_index);
  }
  if (frame.candidate_images.empty()) {
    frame.stop(FixStatus::failed, Reason::no_candidates,
               "no map image was proposed for this frame");
    return;
  }
  report.selected_source = candidate_source_name(fusion.candidates.front().selected_source);
}

void Localizer::extract(Frame& frame) const {
  frame.query = matcher_->read(matcher_->wants_colour() ? frame.colour : frame.grey);
}

// What is known of the photo's heading, the surest first.
std::vector<HeadingHint> Localizer::heading_hints(const Frame& frame) const {
  std::vector<HeadingHint> hints;
  if (const auto expected = frame.track.expected_pose(frame.source.index)) {
    hints.push_back({"last fix", *expected});
  }
  const Georegistration& geo = map_.georegistration();
  if (const auto gimbal = frame.metadata.gimbal(); gimbal && geo.known()) {
    Rigid3 cam_from_map;
    cam_from_map.rotation = cam_from_enu(*gimbal) * geo.enu_from_map.rotation;
    hints.push_back({"gimbal", cam_from_map});
  }
  return hints;
}

std::span<const std::uint32_t> Localizer::candidates_matched(const Frame& frame) const {
  const std::size_t count =
      std::min<std::size_t>(frame.candidate_images.size(), std::size_t(matcher_->max_candidates()));
  return {frame.candidate_images.data(), count};
}

void Localizer::choose_turn(Frame& frame) const {
  const std::span<const std::uint32_t> images = candidates_matched(frame);
  if (!matcher_->needs_turn()) {
    for (const std::uint32_t image : images) frame.turned.push_back({image, 0});
    return;
  }
  const StageTimer timer(frame.fix.telemetry, "turn");
  TurnChoice choice =
      choose_turns(map_, images, heading_hints(frame), [&](const TurnedCandidate& candidate) {
        return matcher_->rough_matches(*frame.query, candidate);
      });
  frame.turned = std::move(choice.candidates);
  frame.fix.turn = choice.turn;
}

// Matches and the first pose with the candidates turned like this.
Localizer::Attempt Localizer::attempt(Frame& frame, std::vector<TurnedCandidate> turned) const {
  Attempt attempt;
  attempt.turned = std::move(turned);
  {
    const StageTimer timer(frame.fix.telemetry, "match");
    MapMatches matches = matcher_->match(*frame.query, attempt.turned, options_.match_max_points);
    attempt.pairs = std::move(matches.pairs);
    note_retries(matches.retries, matcher_->needs_turn(), frame.fix.telemetry);
  }
  attempt.points = solver_pairs(attempt.pairs, map_);
  if (attempt.points.size() < kMinMatches) return attempt;
  const PoseOptions pose = pose_options(frame);
  for (const Camera& camera : frame.camera.hypotheses) {
    PoseEstimate estimate = estimate_pose(attempt.points, camera, pose);
    PoseEstimate& first = attempt.first;
    const bool better =
        !first.found || estimate.inlier_count > first.inlier_count ||
        (estimate.inlier_count == first.inlier_count && estimate.rms_px < first.rms_px);
    if (estimate.found && better) first = std::move(estimate);
  }
  if (attempt.first.found) {
    attempt.evidence = pose_evidence(attempt.points, attempt.first, pose);
  }
  return attempt;
}

bool Localizer::convinces(const Attempt& attempt) const {
  return attempt.first.found &&
         attempt.evidence.log10_false_alarms <= options_.verdict.max_log10_false_alarms;
}

PoseOptions Localizer::pose_options(const Frame& frame) const {
  PoseOptions pose = options_.pose;
  pose.seed = frame_seed(options_.seed, frame.source.name);
  return pose;
}

void Localizer::match_and_solve(Frame& frame) const {
  choose_turn(frame);
  Attempt best = attempt(frame, frame.turned);
  if (matcher_->needs_turn() && !convinces(best)) {
    // Rough matches told the turns apart wrongly, or there is nothing to find: the others are tried
    // in earnest.
    for (auto& turned : all_turns(map_, candidates_matched(frame))) {
      if (turned == frame.turned) continue;
      Attempt other = attempt(frame, std::move(turned));
      if (other.first.inlier_count > best.first.inlier_count) best = std::move(other);
      if (convinces(best)) break;
    }
    if (best.turned != frame.turned) frame.fix.turn = best.turned.front().turn;
  }
  frame.turned = std::move(best.turned);
  frame.pairs = std::move(best.pairs);
  frame.first = std::move(best.first);
  frame.evidence = best.evidence;
  frame.fix.matches = distinct_points(frame.pairs);
  if (best.points.size() < kMinMatches) {
    frame.stop(
        FixStatus::failed, Reason::too_few_matches,
        fmt::format("{} 2D-3D matches, at least {} are needed", best.points.size(), kMinMatches));
    return;
  }
  if (!frame.first.found) {
    frame.stop(FixStatus::failed, Reason::no_pose_found,
               fmt::format("no pose explains enough of {} matches", best.points.size()));
    return;
  }
  frame.fix.camera = frame.first.camera;
  frame.final_pairs = std::move(best.points);
  refine_guided(frame, pose_options(frame));
}

// Twice: the first pose is only as good as the first matches.
void Localizer::refine_guided(Frame& frame, const PoseOptions& pose) const {
  frame.final = frame.first;
  for (const double radius_factor : {2.0, 1.0}) {
    const double radius_px = options_.guided.radius_px * radius_factor;
    const GuidedMatches found = matcher_->search(*frame.query, frame.turned, frame.final.camera,
                                                 frame.final.cam_from_map, radius_px);
    note_retries(found.retries, matcher_->needs_turn(), frame.fix.telemetry);
    const std::vector<PointPair> wider = solver_pairs(found.pairs, map_);
    PoseOptions narrow = pose;
    narrow.max_error_px = radius_px;
    PoseEstimate refined = refine_pose(wider, frame.final.camera, frame.final.cam_from_map, narrow);
    frame.expected = found.expected;
    if (!refined.found || refined.inlier_count < frame.first.inlier_count / 2) break;
    refined.planar = frame.first.planar;
    refined.alternative = frame.first.alternative;
    frame.final = std::move(refined);
    frame.final_pairs = wider;
  }
}

}  // namespace skyfix
