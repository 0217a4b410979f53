#include "skyfix/models/aliked/aliked_config.h"

#include <string_view>

namespace skyfix::aliked {
namespace {

void read_first_size(const TensorSource& source, std::string_view name, std::int64_t& size,
                     std::int64_t times = 1) {
  const StoredTensor* stored = source.find(name);
  if (stored != nullptr && !stored->shape.empty() && stored->shape[0] > 0) {
    size = stored->shape[0] * times;
  }
}

}  // namespace

Config Config::of(const TensorSource& source) {
  Config config;
  read_first_size(source, "block1.conv1.weight", config.c1);
  read_first_size(source, "block2.conv1.weight", config.c2);
  read_first_size(source, "block3.conv1.regular_conv.weight", config.c3);
  read_first_size(source, "block4.conv1.regular_conv.weight", config.c4);
  read_first_size(source, "conv1.weight", config.dimension, 4);
  read_first_size(source, "desc_head.agg_weights", config.samples);
  return config;
}

}  // namespace skyfix::aliked
