#include "skyfix/localize/methods.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/features/network_features.h"
#include "skyfix/localize/feature_matcher.h"
#include "skyfix/localize/map_extend.h"
#include "skyfix/localize/mast3r_matcher.h"
#include "skyfix/retrieval/dinov3_descriptor.h"

namespace skyfix {
namespace {

bool has(const std::vector<std::string>& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

void require_name(const std::string& option, const std::string& name,
                  const std::vector<std::string>& names) {
  if (has(names, name)) return;
  std::string message = fmt::format("{} is '{}'; allowed is {}", option, name, joined(names));
  if (const auto nearest = nearest_name(name, names)) {
    message += "; did you mean " + *nearest + "?";
  }
  throw Error(Reason::bad_option, message);
}

std::string features_of(const std::string& matcher) {
  if (matcher == "mast3r") return "";
  return matcher == "xfeat-dense" ? "xfeat" : matcher;
}

std::string automatic_matcher(const Map& map) {
  const auto kinds = map.feature_kinds();
  for (const char* kind : {"sift", "xfeat", "aliked"}) {
    if (has(kinds, kind)) return kind;
  }
  throw Error(Reason::missing_in_map,
              "the map holds no local features: add some with skyfix map add --features xfeat",
              map.folder());
}

// The largest DINOv3 kind of places that can be used, or empty.
std::string dinov3_places(const Map& map, const Networks* networks) {
  for (const std::string& kind : map.place_kinds()) {
    if (!kind.starts_with("dinov3-")) continue;
    if (networks == nullptr || networks->available(kind)) return kind;
  }
  return {};
}

std::string vlad_places(const Map& map) {
  const auto kinds = map.place_kinds();
  if (has(kinds, "vlad-sift")) return "vlad-sift";
  for (const std::string& kind : kinds) {
    if (kind.starts_with("vlad-")) return kind;
  }
  return {};
}

std::string choose_places(const Map& map, const std::string& retriever, const Networks& networks) {
  if (retriever == "auto") {
    if (const auto kind = dinov3_places(map, &networks); !kind.empty()) return kind;
  }
  const std::string kind = retriever == "dinov3" ? dinov3_places(map, nullptr) : vlad_places(map);
  if (!kind.empty()) return kind;
  const bool wants_dinov3 = retriever == "dinov3";
  throw Error(Reason::missing_in_map,
              fmt::format("the map holds no places by {} (it has: {}); add them with skyfix map "
                          "add {}",
                          wants_dinov3 ? "DINOv3" : "VLAD", joined(map.place_kinds()),
                          wants_dinov3 ? "--global dinov3" : "--features xfeat"),
              map.folder());
}

std::unique_ptr<MapMatcher> open_matcher(const Map& map, const ChosenMethods& chosen,
                                         const MethodOptions& options,
                                         const LocalizeOptions& localize, Networks& networks,
                                         const MatchContext& matching) {
  if (chosen.matcher == "sift") {
    return make_feature_matcher(map, make_local_features("sift", localize.query_features), matching,
                                localize.guided.min_score);
  }
  if (chosen.matcher == "mast3r") {
    Mast3rMatcherOptions of_mast3r;
    of_mast3r.cached_features = matching.network_features.entries;
    of_mast3r.cache_bytes = matching.network_features.bytes;
    of_mast3r.make_twin = [&networks] { return networks.mast3r_on_cpu(); };
    return make_mast3r_matcher(map, map_photo_folder(map, options.map_images), networks.mast3r(),
                               matching, of_mast3r);
  }
  const bool dense = chosen.matcher.ends_with("-dense");
  return make_network_matcher(
      map, networks.local(chosen.features), dense ? nullptr : networks.lightglue(chosen.features),
      matching, options.network, [&networks, kind = chosen.features, dense] {
        return NetworkTwin{networks.local_on_cpu(kind),
                           dense ? nullptr : networks.lightglue_on_cpu(kind)};
      });
}

std::unique_ptr<GlobalDescriptor> open_retriever(const Map& map, const std::string& kind,
                                                 int long_side_px, Networks& networks,
                                                 const MatchContext& matching) {
  const MapPlaces places = map.places(kind);
  if (kind.starts_with("dinov3-")) {
    const DinoV3PlaceSettings settings = parse_dinov3_settings(map.note("places_" + kind).dump());
    const auto network = networks.dinov3(kind);
    DinoV3Guard guard;
    if (network->placement().device == DeviceKind::cuda && matching.ledger != nullptr) {
      guard.device = &matching.ledger->device();
      guard.caches = networks.graphs();
      guard.make_twin = [&networks, kind] { return networks.dinov3_on_cpu(kind); };
    }
    return make_dinov3_descriptor(network, settings, places.vocabulary, places.clusters,
                                  places.vocabulary_hash, guard);
  }
  const std::string local = kind.substr(std::string_view("vlad-").size());
  return make_vlad_descriptor(
      local == "sift" ? make_local_features(local) : make_network_features(networks.local(local)),
      places.vocabulary, places.clusters, places.vocabulary_hash, long_side_px);
}

}  // namespace

std::vector<std::string> matcher_names() {
  return {"sift", "xfeat", "xfeat-dense", "aliked", "mast3r"};
}

void require_method_names(const MethodOptions& options) {
  std::vector<std::string> matchers = matcher_names();
  matchers.insert(matchers.begin(), "auto");
  require_name("--matcher", options.matcher, matchers);
  require_name("--retriever", options.retriever, {"auto", "vlad", "dinov3"});
  options.network.validate();
}

ChosenMethods choose_methods(const Map& map, const MethodOptions& options,
                             const Networks& networks) {
  require_method_names(options);
  ChosenMethods chosen;
  chosen.matcher = options.matcher == "auto" ? automatic_matcher(map) : options.matcher;
  chosen.features = features_of(chosen.matcher);
  if (!chosen.features.empty() && !has(map.feature_kinds(), chosen.features)) {
    throw Error(Reason::missing_in_map,
                fmt::format("the map holds no {} features (it has: {}); {} --features {}",
                            chosen.features, joined(map.feature_kinds()),
                            chosen.features == "sift" ? "build it again with skyfix map build"
                                                      : "add them with skyfix map add",
                            chosen.features),
                map.folder());
  }
  chosen.places = choose_places(map, options.retriever, networks);
  return chosen;
}

LocalizeMethods open_methods(const Map& map, const ChosenMethods& chosen,
                             const MethodOptions& options, const LocalizeOptions& localize,
                             Networks& networks, const MatchContext& matching) {
  return {open_matcher(map, chosen, options, localize, networks, matching),
          open_retriever(map, chosen.places, localize.vpr_query_resize, networks, matching)};
}

}  // namespace skyfix
