#include "skyfix/localize/networks.h"

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/models/recognise.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix {
namespace {

// The largest first.
constexpr std::string_view kDinoV3Names[] = {
    "dinov3-vith16plus", "dinov3-vitl16plus", "dinov3-vitl16-sat", "dinov3-vitl16",
    "dinov3-vitb16",     "dinov3-vits16plus", "dinov3-vits16",
};

// The size of the network that a known model's weights are of.
std::string dinov3_size(std::string name) {
  name = name.substr(std::string_view("dinov3-").size());
  if (name.ends_with("-sat")) name.resize(name.size() - 4);
  return name;
}

std::unique_ptr<LocalNetwork> make_local(const std::string& kind,
                                         std::shared_ptr<const TensorSource> weights,
                                         const NetworkPlacement& placement) {
  return kind == "xfeat" ? make_xfeat(std::move(weights), placement)
                         : make_aliked(std::move(weights), placement);
}

std::shared_ptr<const LightGlue> make_lightglue(const std::string& kind,
                                                std::shared_ptr<const TensorSource> weights,
                                                const NetworkPlacement& placement) {
  LightGlueConfig config =
      kind == "xfeat" ? LightGlueConfig::for_xfeat() : LightGlueConfig::for_aliked();
  // Dropping points costs a look at them: on a GPU only many are worth it.
  if (placement.device == DeviceKind::cpu) config.prune_above = -1;
  return std::make_shared<LightGlue>(std::move(weights), config, placement);
}

const LocalNetworkModels& models_of(const std::string& kind) {
  for (const LocalNetworkModels& models : local_network_models()) {
    if (models.kind == kind) return models;
  }
  throw Error(Reason::bad_option, "there is no network for local features called '" + kind +
                                      "' (there are: xfeat, aliked)");
}

}  // namespace

const std::vector<LocalNetworkModels>& local_network_models() {
  static const std::vector<LocalNetworkModels> kModels{
      {"xfeat", "xfeat", "lighterglue"}, {"aliked", "aliked-n16rot", "lightglue-aliked"}};
  return kModels;
}

Networks::Networks(NetworkOptions options) : options_(std::move(options)) {
  for (const std::string& given : options_.weights) {
    const std::size_t equals = given.find('=');
    if (given == "synthetic") {
      synthetic_ = true;
    } else if (equals != std::string::npos && !std::filesystem::exists(given)) {
      const std::string file = given.substr(equals + 1);
      if (file.empty()) {
        throw Error(Reason::bad_option, "--weights " + given + " names no file after the '='");
      }
      files_[known_model(given.substr(0, equals)).name] = file;
    } else {
      const auto names = models_with_tensors(*open_tensor_file(given));
      if (names.empty()) {
        throw Error(Reason::bad_weights,
                    "these are weights of no network known here; skyfix models list says which are",
                    given);
      }
      for (const std::string& name : names) files_[name] = given;
    }
  }
}

std::shared_ptr<const TensorSource> Networks::weights(const std::string& model) {
  const auto file = files_.find(model);
  const std::string given = file != files_.end() ? file->second : synthetic_ ? "synthetic" : "";
  auto source = open_weights(known_model(model), given, options_.weights_dir);
  opened_[model] = weights_identity(*source);
  return source;
}

std::vector<std::string> Networks::unused_files() const {
  std::map<std::string, bool> used;
  for (const auto& [model, file] : files_) used[file] |= opened_.contains(model);
  std::vector<std::string> unused;
  for (const auto& [file, opened] : used) {
    if (!opened) unused.push_back(file);
  }
  return unused;
}

bool Networks::available(const std::string& model) const {
  return synthetic_ || files_.contains(model) ||
         find_weights(known_model(model), options_.weights_dir).has_value();
}

std::string Networks::available_dinov3() const {
  for (const std::string_view name : kDinoV3Names) {
    // Synthetic weights would be found for the largest: the usual one is taken.
    if (synthetic_ && name != "dinov3-vitl16") continue;
    if (available(std::string(name))) return std::string(name);
  }
  return {};
}

NetworkPlacement Networks::small_placement() const {
  NetworkPlacement placement = options_.placement;
  if (options_.small_in_fp32) placement.precision = Precision::fp32;
  return placement;
}

std::shared_ptr<const LocalNetwork> Networks::local(const std::string& kind) {
  auto& network = locals_[kind];
  if (!network) network = make_local(kind, weights(models_of(kind).features), small_placement());
  return network;
}

std::shared_ptr<const LocalNetwork> Networks::local_on_cpu(const std::string& kind) {
  return make_local(kind, weights(models_of(kind).features), {});
}

std::shared_ptr<const LightGlue> Networks::lightglue(const std::string& kind) {
  auto& matcher = lightglues_[kind];
  if (!matcher) {
    matcher = make_lightglue(kind, weights(models_of(kind).matcher), small_placement());
  }
  return matcher;
}

std::shared_ptr<const LightGlue> Networks::lightglue_on_cpu(const std::string& kind) {
  return make_lightglue(kind, weights(models_of(kind).matcher), {});
}

std::shared_ptr<const DinoV3> Networks::dinov3(const std::string& name) {
  auto& network = dinov3s_[name];
  if (!network) network = make_dinov3(name, options_.placement);
  return network;
}

std::shared_ptr<const DinoV3> Networks::dinov3_on_cpu(const std::string& name) {
  return make_dinov3(name, {});
}

std::shared_ptr<const DinoV3> Networks::make_dinov3(const std::string& name,
                                                    const NetworkPlacement& placement) {
  DinoV3Options options;
  options.config = dinov3_config(dinov3_size(name));
  if (name.ends_with("-sat")) options.colours = DinoV3Colours::satellite;
  return std::make_shared<DinoV3>(weights(name), placement, options);
}

std::shared_ptr<const Mast3r> Networks::mast3r() {
  if (!mast3r_) mast3r_ = make_mast3r(options_.placement);
  return mast3r_;
}

std::shared_ptr<const Mast3r> Networks::mast3r_on_cpu() { return make_mast3r({}); }

std::shared_ptr<const Mast3r> Networks::make_mast3r(const NetworkPlacement& placement) {
  Mast3rOptions options;
  options.placement = placement;
  options.heads = placement.precision;
  return std::make_shared<Mast3r>(weights("mast3r"), options);
}

std::vector<ReleasableCache*> Networks::graphs() const {
  std::vector<ReleasableCache*> graphs;
  if (mast3r_) graphs.push_back(&mast3r_->graphs());
  for (const auto& [name, network] : dinov3s_) graphs.push_back(&network->graphs());
  return graphs;
}

}  // namespace skyfix
