// VLAD over local features as a picture's global descriptor.
#include "skyfix/base/error.h"
#include "skyfix/retrieval/global_descriptor.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix {
namespace {

class VladPlace : public GlobalDescriptor {
 public:
  VladPlace(std::unique_ptr<LocalFeatures> local, std::span<const float> centres, int clusters,
            std::string vocabulary_hash, int long_side)
      : kind_("vlad-" + std::string(local->kind())),
        local_(std::move(local)),
        centres_(centres),
        clusters_(clusters),
        vocabulary_hash_(std::move(vocabulary_hash)),
        long_side_(long_side) {}

  std::string_view kind() const override { return kind_; }
  bool wants_colour() const override { return local_->wants_colour(); }
  bool turn_matters() const override { return local_->turn_matters(); }
  int dimension() const override { return int(centres_.size()); }
  int long_side() const override { return long_side_; }
  std::string vocabulary_hash() const override { return vocabulary_hash_; }
  std::vector<float> compute(const Image& image) const override {
    return vlad_descriptor(centres_, clusters_, local_->extract(image));
  }

 private:
  std::string kind_;
  std::unique_ptr<LocalFeatures> local_;
  std::span<const float> centres_;
  int clusters_;
  std::string vocabulary_hash_;
  int long_side_;
};

}  // namespace

std::unique_ptr<GlobalDescriptor> make_vlad_descriptor(std::unique_ptr<LocalFeatures> local,
                                                       std::span<const float> centres, int clusters,
                                                       std::string vocabulary_hash, int long_side) {
  if (clusters < 1 || centres.size() != std::size_t(clusters) * std::size_t(local->dimension())) {
    throw Error(Reason::bad_map, "the place vocabulary does not fit " + std::string(local->kind()) +
                                     " features (" + std::to_string(local->dimension()) +
                                     " values each); build the map again");
  }
  return std::make_unique<VladPlace>(std::move(local), centres, clusters,
                                     std::move(vocabulary_hash), long_side);
}

}  // namespace skyfix
