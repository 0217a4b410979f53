// VLAD over local descriptors (Jegou et al. 2010; intra-normalisation: Arandjelovic and Zisserman
// 2013). Vocabulary: mean of the unit descriptors assigned by largest cosine, not renormalised;
// ties to the lowest index; a centre without members stays as it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skyfix/features/local_features.h"

namespace skyfix {

struct VladVocabulary {
  int clusters = 0;
  int dimension = 0;           // of the local descriptors
  std::vector<float> centres;  // [clusters, dimension]
  // SHA-256 of the centres' bytes, hex.
  std::string hash() const;
};

struct VladTraining {
  int clusters = 64;
  int iterations = 15;
  std::size_t max_samples = 200000;  // drawn evenly with the seed
  std::uint64_t seed = 1;
};

// k-means with cosine assignment (k-means++ start). Deterministic from the seed whatever the thread
// count. `descriptors` are unit rows [n, dimension]. With fewer rows than clusters the vocabulary
// has as many clusters as distinct rows (at least 1).
VladVocabulary train_vlad_vocabulary(std::span<const float> descriptors, int dimension,
                                     const VladTraining& options);

// Hard-assignment VLAD: residual sums, each cluster L2-normalised, then the whole. All zero when
// there are no descriptors. `rows` [n, dimension of the centres] need not be unit; those that are
// zero or not numbers are left out.
std::vector<float> vlad_of_rows(std::span<const float> centres, int clusters,
                                std::span<const float> rows);
std::vector<float> vlad_descriptor(std::span<const float> centres, int clusters,
                                   const FeatureSet& features);

}  // namespace skyfix
