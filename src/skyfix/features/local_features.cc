#include "skyfix/features/local_features.h"

#include <array>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/features/sift.h"

namespace skyfix {
namespace {

using Maker = std::unique_ptr<LocalFeatures> (*)(const FeatureOptions&);
constexpr std::array<std::pair<std::string_view, Maker>, 1> kMakers{{{"sift", make_sift}}};

}  // namespace

std::vector<std::string> local_feature_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, maker] : kMakers) kinds.emplace_back(kind);
  return kinds;
}

std::unique_ptr<LocalFeatures> make_local_features(std::string_view kind,
                                                   const FeatureOptions& options) {
  for (const auto& [name, maker] : kMakers) {
    if (name == kind) return maker(options);
  }
  const std::vector<std::string> kinds = local_feature_kinds();
  std::string message = "there are no local features called '" + std::string(kind) + "'";
  if (const auto nearest = nearest_name(kind, kinds)) message += "; did you mean " + *nearest + "?";
  message += " (there is:";
  for (const std::string& name : kinds) message += " " + name;
  throw Error(Reason::bad_option, message + ")");
}

}  // namespace skyfix
