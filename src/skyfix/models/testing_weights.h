// Files that look like known models' weights to the eye that tells models apart. For tests only.
#pragma once

#include <string>

#include "skyfix/nn/testing_archive.h"

namespace skyfix::testing {

// A PyTorch file with XFeat's telling tensors, all ones.
inline std::string small_xfeat() {
  PickleWriter pickle;
  pickle.add("}(").text("keypoint_head.3.weight").tensor("CharStorage", "0", 4160, {65, 64, 1, 1});
  pickle.text("heatmap_head.2.weight").tensor("CharStorage", "1", 64, {1, 64, 1, 1}).add("u");
  return make_torch_file(pickle.stop(),
                         {{"0", std::string(4160, '\1')}, {"1", std::string(64, '\1')}});
}

// The same for ALIKED with 16 samples.
inline std::string small_aliked() {
  PickleWriter pickle;
  pickle.add("}(").text("desc_head.agg_weights");
  pickle.tensor("CharStorage", "0", 262144, {16, 128, 128});
  pickle.text("score_head.6.weight").tensor("CharStorage", "1", 36, {1, 4, 3, 3}).add("u");
  return make_torch_file(pickle.stop(),
                         {{"0", std::string(262144, '\1')}, {"1", std::string(36, '\1')}});
}

}  // namespace skyfix::testing
