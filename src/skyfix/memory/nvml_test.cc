#include "skyfix/memory/nvml.h"

#include <gtest/gtest.h>

namespace skyfix {
namespace {

// Without a driver everything is unknown, and nothing fails.
TEST(Nvml, AnUnknownCardIsUnknown) { EXPECT_EQ(card_memory("FFFF:FF:1F.0"), std::nullopt); }

TEST(Nvml, TheVersionLooksLikeOneWhereThereIsADriver) {
  const std::string version = nvidia_driver_version();
  if (!version.empty()) {
    EXPECT_NE(version.find('.'), std::string::npos) << version;
  }
}

}  // namespace
}  // namespace skyfix
