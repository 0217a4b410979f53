// Candidate map images for a frame, and how several proposals become one list without any source
// hiding another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/geo/geodesy.h"
#include "skyfix/geo/rigid3.h"
#include "skyfix/map/map_folder.h"

namespace skyfix {

enum class CandidateSource { faiss, temporal, prior };
std::string_view candidate_source_name(CandidateSource source);  // "faiss", "temporal", "prior"

// One source's proposal: map images, best first.
struct Proposal {
  std::uint32_t image_index = 0;
  double score = 0;  // faiss: dot product; temporal and prior: minus the distance in map units
};
struct ProposalList {
  CandidateSource source = CandidateSource::faiss;
  std::vector<Proposal> proposals;
};

struct CandidateOrigin {
  CandidateSource source = CandidateSource::faiss;
  int rank = 0;  // from 1 within that source
  double score = 0;
};
// A map image with all the sources that proposed it.
struct Candidate {
  std::uint32_t image_index = 0;
  std::string name;
  std::vector<CandidateOrigin> origins;
  CandidateSource selected_source = CandidateSource::faiss;  // which source put it in its place
};

enum class CandidatePolicy { retrieval_first, retrieval_only, temporal_first };
std::string_view candidate_policy_name(CandidatePolicy policy);     // "retrieval-first" ...
CandidatePolicy candidate_policy_from_name(std::string_view name);  // throws Error(bad_option)

// De-duplicates by image name and orders by policy. A policy is an order of sources:
// retrieval_first is faiss, temporal, prior; temporal_first is temporal, faiss, prior;
// retrieval_only is faiss alone (the others are still remembered as origins). In that order each
// source first takes its best `per_source` images that no other has taken, then each takes what is
// left, up to `limit` in all: no source can push another out.
struct FusionOptions {
  CandidatePolicy policy = CandidatePolicy::retrieval_first;
  int limit = 15;
  int per_source = 5;
};
struct Fusion {
  std::vector<Candidate> candidates;  // selected, in order of use
  // After de-duplication over all that was proposed: how many images each source proposed.
  int num_faiss_candidates = 0;
  int num_temporal_candidates = 0;
  int num_prior_candidates = 0;
};
Fusion fuse_candidates(const Map& map, std::span<const ProposalList> lists,
                       const FusionOptions& options);

// Map images by distance of their centres to where the camera is expected (last good fix moved on
// by its motion), at most `limit`; images whose optical axis is more than 60 degrees from the
// expected one are left out.
ProposalList temporal_candidates(const Map& map, const Rigid3& expected_cam_from_map, int limit);

// Map images by horizontal distance to a GPS position; empty without georegistration or when none
// is within `radius_m`.
ProposalList prior_candidates(const Map& map, const Wgs84& position, double radius_m, int limit);

// What the record keeps of the retrieval of one frame.
struct RetrievalReport {
  std::string query_descriptor_source;  // backend's name ("vlad-sift") or "cache"
  int num_faiss_proposed = 0;
  int num_temporal_proposed = 0;
  int num_prior_proposed = 0;
  int num_faiss_candidates = 0;
  int num_temporal_candidates = 0;
  int num_prior_candidates = 0;
  // The source of the candidate that gave most inliers (or the first); empty = none.
  std::string selected_source;
  CandidatePolicy policy = CandidatePolicy::retrieval_first;
  struct Entry {
    Candidate candidate;
    int matches = 0;  // pairs that this map image contributed
    int inliers = 0;
  };
  std::vector<Entry> candidates;
};

}  // namespace skyfix
