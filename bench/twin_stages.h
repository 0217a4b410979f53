// Where XFeat's and LighterGlue's time goes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/stopwatch.h"
#include "skyfix/models/lightglue/lightglue.h"
#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/tensor_source.h"

namespace skyfix::bench {

using Stages = std::vector<std::pair<std::string, Seconds>>;

class TwinStages {
 public:
  TwinStages(std::shared_ptr<const TensorSource> xfeat,
             std::shared_ptr<const TensorSource> lighterglue);
  ~TwinStages();
  Stages features(const PictureView& picture, int most) const;
  Stages matching(const LightGlueSide& first, const LightGlueSide& second) const;

 private:
  struct Networks;
  std::unique_ptr<Networks> networks_;
};

}  // namespace skyfix::bench
