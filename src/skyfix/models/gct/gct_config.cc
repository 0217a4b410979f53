#include "skyfix/models/gct/gct_config.h"

#include <string>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

[[noreturn]] void refuse(const TensorSource& source, const std::string& what) {
  throw Error(Reason::bad_weights, "these are not weights of LingBot-Map's GCT: " + what,
              source.description());
}

std::int64_t side(const TensorSource& source, const std::string& name, std::size_t axis,
                  std::size_t rank) {
  const StoredTensor* tensor = source.find(name);
  if (tensor == nullptr) refuse(source, name + " is missing");
  if (tensor->shape.size() != rank) refuse(source, name + " is " + shape_text(tensor->shape));
  return tensor->shape[axis];
}

int count_blocks(const TensorSource& source, const std::string& blocks) {
  int count = 0;
  while (source.find(blocks + "." + std::to_string(count) + ".norm1.weight") != nullptr) ++count;
  return count;
}

// What the shapes say against `expected`; the file's other tensors are compared when they are read.
void check_sizes(const TensorSource& source, const GctConfig& expected) {
  std::string faults;
  const auto compare = [&](const std::string& what, std::int64_t found, std::int64_t wanted) {
    if (found == wanted) return;
    faults += (faults.empty() ? "" : "; ") + what + " " + std::to_string(found) + ", not " +
              std::to_string(wanted);
  };
  const std::string encoder = "aggregator.patch_embed.";
  const std::int64_t grid = expected.position_grid;
  compare("blocks of the image encoder:", count_blocks(source, encoder + "blocks"),
          expected.encoder_blocks);
  compare("frame blocks:", count_blocks(source, "aggregator.frame_blocks"), expected.pairs);
  compare("global blocks:", count_blocks(source, "aggregator.global_blocks"), expected.pairs);
  compare("blocks of the camera head:", count_blocks(source, "camera_head.trunk"),
          expected.camera_blocks);
  compare("pixels of a patch:", side(source, encoder + "patch_embed.proj.weight", 2, 4),
          expected.patch_px);
  compare("positions:", side(source, encoder + "pos_embed", 1, 3), 1 + grid * grid);
  compare("register tokens:", side(source, "aggregator.register_token", 2, 4),
          expected.register_tokens);
  compare("features of the depth head:",
          side(source, "depth_head.scratch.output_conv1.weight", 1, 4), expected.dense_features);
  if (!faults.empty()) refuse(source, "another size than any that is known: " + faults);
}

}  // namespace

GctConfig gct_official() { return {}; }

GctConfig gct_tiny() {
  GctConfig config;
  config.width = 64;
  config.encoder_blocks = 2;
  config.encoder_heads = 2;
  config.pairs = 5;
  config.heads = 2;
  config.taps = {0, 1, 3, 4};
  config.rotary_split = {8, 12, 12};
  config.camera_blocks = 2;
  config.camera_heads = 4;
  config.camera_rotary_split = {8, 12, 12};
  config.dense_features = 32;
  config.dense_channels = {16, 24, 32, 32};
  config.dense_final = {16, 32};
  return config;
}

GctConfig gct_config_of(const TensorSource& source) {
  const std::int64_t width = side(source, "aggregator.camera_token", 3, 4);
  for (GctConfig config : {gct_official(), gct_tiny()}) {
    if (config.width != width) continue;
    check_sizes(source, config);
    config.point_head = source.find("point_head.norm.weight") != nullptr;
    return config;
  }
  refuse(source, "a width of " + std::to_string(width) + " is not known");
}

}  // namespace skyfix
