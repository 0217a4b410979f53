#include "skyfix/models/gct/gct_torch.h"

#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

#include <cassert>
#include <optional>

#include "skyfix/base/error.h"
#include "skyfix/memory/owner_scope.h"
#include "skyfix/memory/torch_errors.h"
#include "skyfix/models/gct/gct_aggregator_torch.h"
#include "skyfix/models/gct/gct_camera_torch.h"
#include "skyfix/models/gct/gct_dense_torch.h"
#include "skyfix/models/gct/gct_encoder_torch.h"

namespace skyfix {
namespace {

constexpr std::string_view kTrunkOwner = "gct trunk", kHeadsOwner = "gct heads";  // in the ledger

// What every public call works under.
struct Inference {
  c10::InferenceMode no_gradients;
  at::NoTF32Guard full_precision;
};

void check_options(const GctOptions& options) {
  if (options.camera_iterations < 1) {
    throw Error(Reason::bad_option, "the camera head needs at least one iteration");
  }
  if (options.frames_at_once < 1) {
    throw Error(Reason::bad_option, "the dense heads need at least one frame at once");
  }
}

}  // namespace

struct GctNetwork::Parts {
  GctConfig config;
  GctOptions options;
  std::string hash;
  gct::Encoder encoder;
  gct::Aggregator aggregator;
  gct::CameraHead camera;
  gct::DenseHead depth;
  std::optional<gct::DenseHead> points;
  nn::WeightReader::Figures weights{};

  void read_trunk(const nn::WeightReader& reader) {
    const OwnerScope owner(kTrunkOwner);
    const nn::WeightReader aggregated = reader.under("aggregator");
    encoder = gct::Encoder(aggregated.under("patch_embed"), config);
    aggregator = gct::Aggregator(aggregated, config);
  }

  void read_heads(const nn::WeightReader& reader) {
    const OwnerScope owner(kHeadsOwner);
    camera = gct::CameraHead(reader.under("camera_head"), config);
    depth = gct::DenseHead(reader.under("depth_head"), config, gct::DenseHead::Values::depth);
    if (options.point_head) {
      points.emplace(reader.under("point_head"), config, gct::DenseHead::Values::points);
    } else {
      reader.skip_under("point_head.");
    }
  }
};

GctNetwork::GctNetwork(const std::shared_ptr<const TensorSource>& weights, const GctConfig& config,
                       const GctOptions& options) {
  check_options(options);
  with_torch_errors(0, [&] {
    const Inference inference;
    auto parts = std::make_unique<Parts>();
    parts->config = config;
    parts->options = options;
    const nn::WeightReader reader(weights, options.placement);
    parts->read_trunk(reader);
    parts->read_heads(reader.in(options.heads));
    reader.finish("LingBot-Map");
    parts->hash = weights_identity(*weights);
    parts->weights = reader.figures();
    parts_ = std::move(parts);
  });
}

GctNetwork::~GctNetwork() = default;

GctOutput GctNetwork::run(const at::Tensor& images, const GctCall& call, GctMemory& memory,
                          const OnStage& on_stage) const {
  const auto enter = [&](GctStage stage) {
    if (on_stage) on_stage(stage);
  };
  const std::int64_t rows = images.size(2) / parts_->config.patch_px,
                     columns = images.size(3) / parts_->config.patch_px;
  assert(images.size(2) == rows * parts_->config.patch_px);
  assert(images.size(3) == columns * parts_->config.patch_px);
  return with_torch_errors(0, [&] {
    const Inference inference;
    enter(GctStage::encoder);
    const at::Tensor tokens = with_special_tokens(encode(images), call);
    const auto taps = aggregate(tokens, rows, columns, call, memory, on_stage);
    GctOutput output;
    enter(GctStage::camera_head);
    output.pose = gct::activated_pose(poses(taps[3], call, memory).back());
    enter(GctStage::depth_head);
    auto [depths, confidence] = depth(taps, rows, columns);
    output.depth = depths.squeeze(-1);
    output.depth_confidence = confidence;
    if (parts_->points) {
      enter(GctStage::point_head);
      std::tie(output.points, output.points_confidence) = points(taps, rows, columns);
    }
    enter(GctStage::end);
    return output;
  });
}

at::Tensor GctNetwork::encode(const at::Tensor& images) const {
  const Inference inference;
  const OwnerScope owner(kTrunkOwner);
  return parts_->encoder(images);
}

at::Tensor GctNetwork::with_special_tokens(const at::Tensor& patches, const GctCall& call) const {
  const Inference inference;
  const OwnerScope owner(kTrunkOwner);
  return parts_->aggregator.with_special_tokens(patches, call);
}

std::array<at::Tensor, 4> GctNetwork::aggregate(const at::Tensor& tokens, std::int64_t rows,
                                                std::int64_t columns, const GctCall& call,
                                                GctMemory& memory, const OnStage& on_stage,
                                                const OnPair& each_pair) const {
  const Inference inference;
  const OwnerScope owner(kTrunkOwner);
  return parts_->aggregator(tokens, rows, columns, call, memory, on_stage, each_pair);
}

std::vector<at::Tensor> GctNetwork::poses(const at::Tensor& last_tap, const GctCall& call,
                                          GctMemory& memory) const {
  const Inference inference;
  const OwnerScope owner(kHeadsOwner);
  const GctOptions& options = parts_->options;
  const at::Tensor tokens = last_tap.select(1, 0);
  if (!options.camera_rotation) {
    return parts_->camera(tokens, options.camera_iterations, nullptr, memory);
  }
  const gct::Rotation rotation = gct::camera_rotation(
      parts_->config, gct::time_indices(call.processed_before, tokens.size(0), tokens.device()));
  return parts_->camera(tokens, options.camera_iterations, &rotation, memory);
}

std::pair<at::Tensor, at::Tensor> GctNetwork::depth(const std::array<at::Tensor, 4>& taps,
                                                    std::int64_t rows, std::int64_t columns) const {
  const Inference inference;
  const OwnerScope owner(kHeadsOwner);
  return parts_->depth(taps, rows, columns, parts_->options.frames_at_once);
}

std::pair<at::Tensor, at::Tensor> GctNetwork::points(const std::array<at::Tensor, 4>& taps,
                                                     std::int64_t rows,
                                                     std::int64_t columns) const {
  const Inference inference;
  const OwnerScope owner(kHeadsOwner);
  assert(parts_->points.has_value());
  return (*parts_->points)(taps, rows, columns, parts_->options.frames_at_once);
}

const GctConfig& GctNetwork::config() const { return parts_->config; }
const GctOptions& GctNetwork::options() const { return parts_->options; }
const std::string& GctNetwork::weights_hash() const { return parts_->hash; }
nn::WeightReader::Figures GctNetwork::weights() const { return parts_->weights; }

Gct::Gct(const std::shared_ptr<const TensorSource>& weights, const GctConfig& config,
         const GctOptions& options)
    : network_(std::make_unique<const GctNetwork>(weights, config, options)) {}
Gct::~Gct() = default;

const GctConfig& Gct::config() const { return network_->config(); }
const GctOptions& Gct::options() const { return network_->options(); }
const std::string& Gct::weights_hash() const { return network_->weights_hash(); }
const GctNetwork& Gct::network() const { return *network_; }

}  // namespace skyfix
