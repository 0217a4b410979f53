// A picture's global descriptor behind one interface, its cache, and the search over the map's.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/features/local_features.h"
#include "skyfix/image/image.h"
#include "skyfix/map/map_folder.h"
#include "skyfix/retrieval/candidates.h"

namespace skyfix {

class GlobalDescriptor {
 public:
  virtual ~GlobalDescriptor() = default;
  virtual std::string_view kind() const = 0;  // "vlad-sift"
  virtual int dimension() const = 0;
  // Long side in pixels of the picture that compute() expects (--vpr-query-resize).
  virtual int long_side() const = 0;
  virtual std::string vocabulary_hash() const = 0;
  virtual bool wants_colour() const { return false; }  // RGB pictures; else grey
  // Whether a turned picture is another place to it: all four turns of a photo are searched then.
  virtual bool turn_matters() const { return false; }
  // Unit row, or all zero for a picture without features.
  virtual std::vector<float> compute(const Image& image) const = 0;
};

// Local features + VLAD with the given vocabulary (views must outlive it).
std::unique_ptr<GlobalDescriptor> make_vlad_descriptor(std::unique_ptr<LocalFeatures> local,
                                                       std::span<const float> centres, int clusters,
                                                       std::string vocabulary_hash, int long_side);

// On disk: FOLDER/<kind>-<first 12 of vocabulary hash>/STEM_r<resize>_<12 hex>.npy, the digits
// being the first 12 of SHA-1 over "absolute path\nsize\nmtime_ns" in UTF-8: safe against equal
// file names and replaced photos. Written atomically; a corrupt or misshapen entry counts as
// absent. A stem is cut to 150 bytes; a photo that does not exist has no entry. Thread-safe.
class DescriptorCache {
 public:
  // Empty folder = off.
  DescriptorCache(std::filesystem::path folder, std::string_view kind,
                  std::string_view vocabulary_hash);
  enum class Outcome { off, hit, miss, corrupt };
  struct Lookup {
    Outcome outcome = Outcome::off;
    std::vector<float> descriptor;  // filled on hit
  };
  Lookup find(const std::filesystem::path& photo, int resize, int dimension) const;
  // Failure to write is logged once, never thrown.
  void store(const std::filesystem::path& photo, int resize,
             std::span<const float> descriptor) const;
  // Where the entry of a photo lies (whether it exists or not); empty when off.
  std::filesystem::path entry(const std::filesystem::path& photo, int resize) const;

 private:
  std::filesystem::path folder_;
  std::shared_ptr<std::atomic<bool>> warned_;  // shared by copies
};
std::string_view cache_outcome_name(DescriptorCache::Outcome outcome);

// Exact search by inner product with FAISS over the mapped rows (nothing copied). Best first; ties
// to the lowest index; rows of zeros never proposed; a zero query gives nothing.
ProposalList search_places(const MapPlaces& places, std::span<const float> query, int count);
// The same for several descriptors of one photo (its turns), `dimension` values each: an image
// counts with its best score.
ProposalList search_any_turn(const MapPlaces& places, std::span<const float> queries, int dimension,
                             int count);

}  // namespace skyfix
