#include "skyfix/models/mast3r/mast3r_config.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/models/mast3r/literal_text.h"

namespace skyfix {
namespace {

constexpr int kPublicHeadSize = 64;
constexpr int kLargest = 1 << 16;  // of any width; keeps products of two far from overflow
constexpr int kMostBlocks = 1000;

[[noreturn]] void refuse(const TensorSource& weights, const std::string& what) {
  throw Error(Reason::bad_weights, "these weights cannot be used as MASt3R's: " + what,
              weights.description());
}

// The numbers that shapes tell.
class Shapes {
 public:
  explicit Shapes(const TensorSource& weights) : weights_(weights) {}

  int dimension(const std::string& name, std::size_t index, std::size_t rank) const {
    const StoredTensor* tensor = weights_.find(name);
    if (tensor == nullptr) refuse(weights_, "there is no tensor " + name);
    if (tensor->shape.size() != rank) {
      refuse(weights_, name + " has the shape " + shape_text(tensor->shape) + ", not one of " +
                           std::to_string(rank) + " dimensions");
    }
    const std::int64_t size = tensor->shape[index];
    if (size < 1 || size > kLargest) {
      refuse(weights_, name + " has the shape " + shape_text(tensor->shape));
    }
    return static_cast<int>(size);
  }

  int depth(const std::string& blocks) const {
    int depth = 0;
    while (depth < kMostBlocks &&
           weights_.find(blocks + "." + std::to_string(depth) + ".norm1.weight") != nullptr) {
      ++depth;
    }
    if (depth == 0) refuse(weights_, "there is no tensor " + blocks + ".0.norm1.weight");
    return depth;
  }

 private:
  const TensorSource& weights_;
};

Mast3rConfig config_of_shapes(const TensorSource& weights) {
  const Shapes shapes(weights);
  const std::string dense = "downstream_head1.dpt.",
                    local = "downstream_head1.head_local_features.";
  Mast3rConfig config;
  config.encoder_width = shapes.dimension("patch_embed.proj.weight", 0, 4);
  config.patch = shapes.dimension("patch_embed.proj.weight", 3, 4);
  if (config.patch != 16)
    refuse(weights, "patches are " + std::to_string(config.patch) + " px wide, not 16");
  config.encoder_depth = shapes.depth("enc_blocks");
  config.encoder_hidden = shapes.dimension("enc_blocks.0.mlp.fc1.weight", 0, 2);
  config.decoder_width = shapes.dimension("decoder_embed.weight", 0, 2);
  config.decoder_depth = shapes.depth("dec_blocks");
  config.decoder_hidden = shapes.dimension("dec_blocks.0.mlp.fc1.weight", 0, 2);
  config.descriptor_hidden = shapes.dimension(local + "fc1.weight", 0, 2);
  config.descriptor_size =
      shapes.dimension(local + "fc2.weight", 0, 2) / (config.patch * config.patch) - 1;
  config.fused_width = shapes.dimension(dense + "head.0.weight", 1, 4);
  config.last_width = shapes.dimension(dense + "head.0.weight", 0, 4);
  for (int level = 0; level < 4; ++level) {
    config.level_widths[level] =
        shapes.dimension(dense + "act_postprocess." + std::to_string(level) + ".0.weight", 0, 4);
  }
  config.encoder_heads = config.encoder_width / kPublicHeadSize;
  config.decoder_heads = config.decoder_width / kPublicHeadSize;
  return config;
}

// A text's statements, compared with the shapes' or taken over.
class Statements {
 public:
  Statements(const TensorSource& weights, std::string_view text) : weights_(weights) {
    try {
      arguments_ = parse_literal_call(text).arguments;
    } catch (const std::invalid_argument& error) {
      refuse(weights_, std::string("the description of the model cannot be read: ") + error.what());
    }
  }

  const Literal* find(const std::string& key) const {
    const auto found = arguments_.find(key);
    return found == arguments_.end() ? nullptr : &found->second;
  }

  // The text of `key`; empty when it is not given.
  std::string text(const std::string& key) const {
    const Literal* value = find(key);
    if (value == nullptr) return {};
    if (value->text() == nullptr) refuse(weights_, key + " is not a text");
    return *value->text();
  }

  void expect_text(const std::string& key, const std::string& wanted) const {
    if (find(key) != nullptr && text(key) != wanted) {
      refuse(weights_, key + " is '" + text(key) + "'; only '" + wanted + "' is supported");
    }
  }

  // A count that `key` states; `absent` when it is not given.
  int count(const std::string& key, int absent) const {
    const Literal* value = find(key);
    if (value == nullptr) return absent;
    const double* number = value->number();
    if (number == nullptr || !(*number >= 1 && *number <= kLargest) ||
        *number != std::floor(*number)) {
      refuse(weights_, key + " is not a count");
    }
    return static_cast<int>(*number);
  }

  void expect_count(const std::string& key, int of_shapes) const {
    agree(key, count(key, of_shapes), of_shapes);
  }

  void agree(const std::string& key, int stated, int of_shapes) const {
    if (stated == of_shapes) return;
    refuse(weights_, key + " says " + std::to_string(stated) + ", the tensors' shapes say " +
                         std::to_string(of_shapes));
  }

  // The trailing number of a text like 'RoPE100', which must begin with `beginning`.
  int number_after(const std::string& key, const std::string& beginning) const {
    const std::string value = text(key);
    const std::string digits = value.substr(std::min(beginning.size(), value.size()));
    const bool fits = value.starts_with(beginning) && !digits.empty() && digits.size() <= 6 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
    if (!fits)
      refuse(weights_, key + " is '" + value + "'; only '" + beginning + "NUMBER' is supported");
    return std::stoi(digits);
  }

  // The floor of a mode ('exp', floor, inf); `absent` when it is not given.
  double exponential_floor(const std::string& key, double absent) const {
    const Literal* value = find(key);
    if (value == nullptr) return absent;
    const std::vector<Literal>* mode = value->tuple();
    const bool known = mode != nullptr && mode->size() == 3 &&
                       (*mode)[0] == Literal{std::string("exp")} &&
                       (*mode)[1].number() != nullptr &&
                       (*mode)[2] == Literal{std::numeric_limits<double>::infinity()};
    if (!known) refuse(weights_, key + " is not ('exp', NUMBER, inf)");
    return *(*mode)[1].number();
  }

 private:
  const TensorSource& weights_;
  std::map<std::string, Literal> arguments_;
};

void check_outputs(const TensorSource& weights, const Statements& stated) {
  stated.expect_text("head_type", "catmlp+dpt");
  const Literal* two = stated.find("two_confs");
  if (two != nullptr && *two != Literal{true}) {
    refuse(weights, "two_confs is not True: descriptors would have no confidence of their own");
  }
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  if (stated.exponential_floor("depth_mode", kLowest) != kLowest) {
    refuse(weights, "depth_mode is not ('exp', -inf, inf)");
  }
}

double finite_floor(const TensorSource& weights, double floor) {
  if (!std::isfinite(floor)) refuse(weights, "a confidence has no finite floor");
  return floor;
}

Mast3rConfig stated_config(const TensorSource& weights, std::string_view text,
                           Mast3rConfig config) {
  const Statements stated(weights, text);
  check_outputs(weights, stated);
  stated.expect_count("patch_size", config.patch);
  stated.expect_count("enc_embed_dim", config.encoder_width);
  stated.expect_count("enc_depth", config.encoder_depth);
  stated.expect_count("dec_embed_dim", config.decoder_width);
  stated.expect_count("dec_depth", config.decoder_depth);
  if (stated.find("output_mode") != nullptr) {
    stated.agree("output_mode", stated.number_after("output_mode", "pts3d+desc"),
                 config.descriptor_size);
  }
  if (stated.find("pos_embed") != nullptr) {
    config.rotary_base = stated.number_after("pos_embed", "RoPE");
  }
  config.encoder_heads = stated.count("enc_num_heads", config.encoder_heads);
  config.decoder_heads = stated.count("dec_num_heads", config.decoder_heads);
  config.confidence_floor =
      finite_floor(weights, stated.exponential_floor("conf_mode", config.confidence_floor));
  // Without its own mode the descriptors' confidence has the points'.
  config.descriptor_confidence_floor =
      finite_floor(weights, stated.exponential_floor("desc_conf_mode", config.confidence_floor));
  return config;
}

// What attention and the heads need of the numbers.
Mast3rConfig checked(const TensorSource& weights, const Mast3rConfig& config) {
  const auto check_heads = [&](const std::string& part, int width, int heads) {
    if (heads < 1 || width % heads != 0 || width / heads % 4 != 0) {
      refuse(weights, "the " + part + " of width " + std::to_string(width) + " cannot have " +
                          std::to_string(heads) + " attention heads");
    }
  };
  check_heads("encoder", config.encoder_width, config.encoder_heads);
  check_heads("decoder", config.decoder_width, config.decoder_heads);
  if (config.decoder_depth < 4) refuse(weights, "the decoder has fewer than 4 blocks");
  if (config.descriptor_size < 1) refuse(weights, "descriptors have no dimension");
  if (config.rotary_base < 1) refuse(weights, "the rotary code's base is below 1");
  return config;
}

}  // namespace

std::array<int, 4> Mast3rConfig::hooks() const {
  return {0, decoder_depth * 2 / 4, decoder_depth * 3 / 4, decoder_depth};
}

Mast3rConfig mast3r_config(const TensorSource& weights) {
  if (weights.synthetic()) return {};
  for (const char* key : {"args.model", "config"}) {
    const auto found = weights.metadata().find(key);
    if (found != weights.metadata().end()) return mast3r_config(weights, found->second);
  }
  return checked(weights, config_of_shapes(weights));
}

Mast3rConfig mast3r_config(const TensorSource& weights, std::string_view text) {
  return checked(weights, stated_config(weights, text, config_of_shapes(weights)));
}

}  // namespace skyfix
