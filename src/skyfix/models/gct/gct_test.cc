#include "skyfix/models/gct/gct.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/models/weights.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {

TEST(Gct, SaysWhatItWasMadeOf) {
  GctOptions options;
  options.camera_iterations = 2;
  const Gct network(make_synthetic_source(), gct_tiny(), options);
  EXPECT_EQ(network.config(), gct_tiny());
  EXPECT_EQ(network.options().camera_iterations, 2);
  EXPECT_EQ(network.weights_hash(), "synthetic");
}

TEST(Gct, RefusesAnotherModelsTensors) {
  auto weights = std::make_shared<testing::MemoryTensors>();
  weights->add_filled("matcher.input_proj.weight", {96, 64}, 0);
  try {
    Gct(weights, gct_tiny());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("matcher.input_proj.weight"));
  }
}

TEST(Gct, IsAKnownModel) {
  const KnownModel& model = known_model("gct");
  EXPECT_EQ(model.file, "lingbot-map*.pt");
  EXPECT_EQ(model.licence, "Apache-2.0");
}

}  // namespace
}  // namespace skyfix
