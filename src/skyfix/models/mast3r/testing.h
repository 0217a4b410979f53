// Goldens of MASt3R (../shared/goldens/mast3r) for its tests. What is not there skips aloud; in CI
// it fails.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "skyfix/models/mast3r/mast3r_config.h"
#include "skyfix/nn/resample.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix::mast3r {

inline Mast3rConfig tiny_config() {
  Mast3rConfig config;
  config.encoder_width = 32;
  config.encoder_depth = 2;
  config.encoder_heads = 2;
  config.decoder_width = 24;
  config.decoder_depth = 4;
  config.decoder_heads = 2;
  config.encoder_hidden = 128;
  config.decoder_hidden = 96;
  config.descriptor_size = 8;
  config.descriptor_hidden = 224;
  config.fused_width = 16;
  config.last_width = 8;
  config.level_widths = {8, 12, 16, 24};
  return config;
}

class Goldens : public ::testing::Test {
 protected:
  static std::filesystem::path folder() {
    return std::filesystem::path(SKYFIX_SHARED_DIR) / "goldens" / "mast3r";
  }

  void SetUp() override {
    if (std::filesystem::exists(folder() / "manifest.json")) {
      std::ifstream(folder() / "manifest.json") >> manifest_;
      return;
    }
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string_view(ci) == "true") FAIL() << "no goldens: " << folder();
    GTEST_SKIP() << "no goldens: " << folder();
  }

  static std::shared_ptr<const TensorSource> open(const std::string& file) {
    return open_tensor_file(folder() / file);
  }

  static const StoredTensor& stored(const TensorSource& source, const std::string& name,
                                    ElementType type) {
    const StoredTensor* found = source.find(name);
    if (found == nullptr || found->type != type) throw std::runtime_error("no golden " + name);
    return *found;
  }

  static BytePicture picture(const TensorSource& source, const std::string& name) {
    const StoredTensor& golden = stored(source, name, ElementType::u8);
    const auto* first = reinterpret_cast<const std::uint8_t*>(golden.bytes.data());
    return {{first, first + golden.bytes.size()},
            int(golden.shape[1]),
            int(golden.shape[0]),
            int(golden.shape[2])};
  }

  nlohmann::json manifest_;
};

}  // namespace skyfix::mast3r
