#include "skyfix/nn/graph_torch.h"

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "skyfix/memory/cuda_library.h"
#include "skyfix/memory/ledger.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::nn {
namespace {

using Tensors = GraphRegions::Tensors;

Tensors halves(const Tensors& inputs) {
  return {at::relu(at::mm(inputs[0], inputs[0].t())), inputs[0].sum()};
}

// What the region gives, kept.
Tensors run(GraphRegions& regions, const at::Tensor& input,
            const GraphRegions::Work& work = halves) {
  Tensors kept;
  regions.run("test", {input}, work, [&](const RegionOutputs& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) kept.push_back(outputs.keep(i));
  });
  return kept;
}

TEST(GraphRegionsTest, AreEagerOnTheCpu) {
  GraphRegions regions;
  const at::Tensor input = at::randn({4, 6});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(regions, input)[0].equal(halves({input})[0]));
  EXPECT_EQ(regions.figures().recorded, 0);
  EXPECT_EQ(regions.figures().replayed, 0);
  EXPECT_EQ(regions.release_unpinned(), 0);
}

TEST(GraphRegionsTest, WhatTheWorkThrowsIsPassedOn) {
  GraphRegions regions;
  EXPECT_THROW(
      run(regions, at::ones({1}), [](const Tensors&) -> Tensors { throw std::out_of_range("x"); }),
      std::out_of_range);
  EXPECT_THAT(run(regions, at::ones({2, 1})), testing::SizeIs(2));  // nothing is left locked
}

TEST(GraphRegionsTest, TheEnvironmentSwitchesThemOff) {
  ::unsetenv("SKYFIX_NO_GRAPHS");
  EXPECT_TRUE(GraphRegions::wanted_by_environment());
  ::setenv("SKYFIX_NO_GRAPHS", "1", 1);
  EXPECT_FALSE(GraphRegions::wanted_by_environment());
  ::setenv("SKYFIX_NO_GRAPHS", "0", 1);
  EXPECT_TRUE(GraphRegions::wanted_by_environment());
  ::unsetenv("SKYFIX_NO_GRAPHS");
}

class GraphRegionsOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    opened_ = open_cuda_device();
    ledger_ = std::make_unique<Ledger>(*opened_.device);
  }
  at::Tensor noise(at::IntArrayRef shape) const {
    return at::randn(shape, at::device(torch_device(DeviceKind::cuda)));
  }
  const c10::InferenceMode inference_;
  CudaDevice opened_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(GraphRegionsOnGpu, GiveWhatTheEagerTwinGives) {
  GraphRegions regions(true), eager(false);
  for (int i = 0; i < 5; ++i) {
    const at::Tensor input = noise({64, 32});
    const Tensors found = run(regions, input), wanted = run(eager, input);
    for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_TRUE(found[k].equal(wanted[k])) << i;
  }
  EXPECT_EQ(regions.figures().recorded, 1);
  EXPECT_EQ(regions.figures().replayed, 4);
  EXPECT_EQ(eager.figures().replayed, 0);
  EXPECT_GT(ledger_->figures().by_owner.at(std::string(kGraphOwner)).bytes, 0);
}

TEST_F(GraphRegionsOnGpu, WhatIsKeptStays) {
  GraphRegions regions(true);
  const at::Tensor first = noise({8, 8}), second = noise({8, 8});
  run(regions, first);
  const Tensors kept = run(regions, first);
  run(regions, second);
  EXPECT_TRUE(kept[0].equal(halves({first})[0]));
}

TEST_F(GraphRegionsOnGpu, ShapesAreTheirOwnRegionsAndOldOnesGo) {
  GraphRegions regions(true, 2);
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t size : {4, 5, 6}) {
      const at::Tensor input = noise({size, 3});
      EXPECT_TRUE(run(regions, input)[0].equal(halves({input})[0]));
    }
  }
  EXPECT_EQ(regions.figures().recorded, 3);
  EXPECT_EQ(regions.figures().held, 2);
  EXPECT_GT(regions.release_unpinned(), 0);
  EXPECT_EQ(regions.figures().held, 0);
  // Anew, with a pool of its own.
  for (int i = 0; i < 3; ++i) {
    const at::Tensor input = noise({4, 3});
    EXPECT_TRUE(run(regions, input)[0].equal(halves({input})[0]));
  }
  EXPECT_EQ(regions.figures().recorded, 4);
}

TEST_F(GraphRegionsOnGpu, WhatCannotBeRecordedStaysEager) {
  GraphRegions regions(true);
  const auto waits = [](const Tensors& inputs) {
    return Tensors{inputs[0] * inputs[0].sum().item<float>()};  // no recording may wait
  };
  for (int i = 0; i < 3; ++i) {
    const at::Tensor input = noise({4, 3});
    EXPECT_TRUE(run(regions, input, waits)[0].equal(waits({input})[0]));
  }
  EXPECT_EQ(regions.figures().failed, 1);
  EXPECT_EQ(regions.figures().recorded, 0);
  const at::Tensor input = noise({4, 9});  // others go on
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(regions, input)[0].equal(halves({input})[0]));
  EXPECT_EQ(regions.figures().recorded, 1);
}

}  // namespace
}  // namespace skyfix::nn
