// The networks that localizing can use, opened by name: weights are looked for or given, and each
// network is made once.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skyfix/models/dinov3/dinov3.h"
#include "skyfix/models/lightglue/lightglue.h"
#include "skyfix/models/local_network.h"
#include "skyfix/models/mast3r/mast3r.h"
#include "skyfix/models/weights.h"
#include "skyfix/nn/placement.h"

namespace skyfix {

struct NetworkOptions {
  // "synthetic" (for every network), FILE (taken for the network that its tensors tell) or
  // MODEL=FILE; what is not given is looked for in the folders of weights.h.
  std::vector<std::string> weights;
  std::filesystem::path weights_dir;
  NetworkPlacement placement;
  // The small networks (XFeat, ALIKED, LightGlue) run in fp32 whatever the placement says: they
  // gain nothing from less, and their keypoints would move.
  bool small_in_fp32 = true;
};

// Not thread-safe.
class Networks {
 public:
  // Throws Error(bad_option) for a MODEL that is not known, Error(bad_weights) for a FILE that is
  // of no known network.
  explicit Networks(NetworkOptions options);

  // "xfeat", "aliked". All of these throw Error(missing_weights | bad_weights).
  std::shared_ptr<const LocalNetwork> local(const std::string& kind);
  std::shared_ptr<const LightGlue> lightglue(const std::string& kind);
  // Both anew, on the CPU: for when a device's memory runs out.
  std::shared_ptr<const LocalNetwork> local_on_cpu(const std::string& kind);
  std::shared_ptr<const LightGlue> lightglue_on_cpu(const std::string& kind);
  // "dinov3-vitl16" ...
  std::shared_ptr<const DinoV3> dinov3(const std::string& name);
  std::shared_ptr<const Mast3r> mast3r();
  // The same on the CPU, in fp32: the last resort where a device's memory runs out. Not kept.
  std::shared_ptr<const DinoV3> dinov3_on_cpu(const std::string& name);
  std::shared_ptr<const Mast3r> mast3r_on_cpu();
  // What can be released of the networks opened so far.
  std::vector<ReleasableCache*> graphs() const;

  // Whether weights of a known model are given or found.
  bool available(const std::string& model) const;
  // The DINOv3 that is given or found, the largest first; empty when there is none.
  std::string available_dinov3() const;
  const NetworkPlacement& placement() const { return options_.placement; }
  // Files given that no network has been opened from so far.
  std::vector<std::string> unused_files() const;
  // Weights of the networks opened so far: model -> SHA-256.
  const std::map<std::string, std::string>& opened() const { return opened_; }

 private:
  std::shared_ptr<const DinoV3> make_dinov3(const std::string& name,
                                            const NetworkPlacement& placement);
  std::shared_ptr<const Mast3r> make_mast3r(const NetworkPlacement& placement);
  std::shared_ptr<const TensorSource> weights(const std::string& model);
  NetworkPlacement small_placement() const;

  NetworkOptions options_;
  bool synthetic_ = false;
  std::map<std::string, std::string> files_;  // model -> file given
  std::map<std::string, std::string> opened_;
  std::map<std::string, std::shared_ptr<const LocalNetwork>> locals_;
  std::map<std::string, std::shared_ptr<const LightGlue>> lightglues_;
  std::map<std::string, std::shared_ptr<const DinoV3>> dinov3s_;
  std::shared_ptr<const Mast3r> mast3r_;
};

// Names of the local networks, and of the models their weights and LightGlue's are.
struct LocalNetworkModels {
  std::string kind;
  std::string features;
  std::string matcher;
};
const std::vector<LocalNetworkModels>& local_network_models();

}  // namespace skyfix
