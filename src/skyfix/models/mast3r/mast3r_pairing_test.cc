#include "skyfix/models/mast3r/mast3r_pairing.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "skyfix/models/mast3r/testing.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

constexpr int kLongSide = 96;

BytePicture photo(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  BytePicture coarse{{}, 9, 7, 3};
  for (int i = 0; i < 9 * 7 * 3; ++i) coarse.pixels.push_back(std::uint8_t(random()));
  return resample(coarse.view(), 96, 64, ResampleFilter::bicubic);
}

class Mast3rPairingTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const Mast3r> network() {
    static const auto made = std::make_shared<const Mast3r>(make_synthetic_source(),
                                                            mast3r::tiny_config(), Mast3rOptions{});
    return made;
  }
  Mast3rPairing pairing(CacheLimits limits) {
    const auto twin = [this] {
      ++twins_;
      return network();
    };
    return Mast3rPairing(network(), twin, device_.get(), limits);
  }
  std::vector<Mast3rReferencePhoto> references(std::initializer_list<std::uint64_t> keys) {
    std::vector<Mast3rReferencePhoto> all;
    for (const std::uint64_t key : keys) {
      const auto load = [this, key](const std::function<void(const PictureView&)>& use) {
        ++loaded_;
        use(photo(key).view());
      };
      all.push_back({key, load, xy_});
    }
    return all;
  }

  const std::unique_ptr<Device> device_ = make_host_device();
  const std::vector<float> xy_ = {20.5f, 30.5f, 40.5f, 33.5f};
  const BytePicture picture_ = photo(1);
  int twins_ = 0;
  int loaded_ = 0;
};

TEST_F(Mast3rPairingTest, KeepsFeaturesWithinItsLimits) {
  for (const std::uint64_t kept : {0, 1, 8}) {
    loaded_ = 0;
    Mast3rPairing pairs = pairing({kept == 0 ? 0 : UINT64_MAX, kept});
    for (int round = 0; round < 2; ++round) {
      Mast3rQueryPhoto query{picture_.view(), kLongSide};
      RetryReport report;
      std::set<std::size_t> seen;
      pairs.pairs(
          query, references({5, 6, 7}), {},
          [&](std::size_t i, const Mast3rPair& pair) {
            EXPECT_TRUE(seen.insert(i).second);
            EXPECT_EQ(pair.reference.rows, 2);
          },
          report);
      EXPECT_THAT(seen, ::testing::SizeIs(3));
      EXPECT_TRUE(report.events.empty());
    }
    EXPECT_EQ(loaded_, kept == 8 ? 3 : 6) << kept;
    EXPECT_LE(pairs.cache_figures().entries, kept);
  }
}

// Wherever memory runs out, each pair is handed out once, with the same numbers.
TEST_F(Mast3rPairingTest, NoPairIsLostOrTwice) {
  Mast3rQueryPhoto alone{picture_.view(), kLongSide};
  std::map<std::size_t, std::vector<float>> wanted;
  RetryReport report;
  pairing({UINT64_MAX, 8})
      .pairs(
          alone, references({5, 6, 7}), {.batch = 1},
          [&](std::size_t i, const Mast3rPair& pair) { wanted[i] = pair.reference.to_host(); },
          report);
  for (const int failures : {1, 3, 100}) {
    Mast3rPairing pairs = pairing({UINT64_MAX, 8});
    Mast3rQueryPhoto query{picture_.view(), kLongSide};
    std::map<std::size_t, std::vector<float>> found;
    int left = failures, twins = twins_;
    pairs.pairs(
        query, references({5, 6, 7}), {.batch = 2},
        [&](std::size_t i, const Mast3rPair& pair) {
          // The second one, as where its rows are matched; the CPU's twin is spared.
          if (i == 1 && twins_ == twins && left-- > 0) {
            throw OutOfDeviceMemory(MemoryFailure::allocator, 1, "test");
          }
          EXPECT_TRUE(found.emplace(i, pair.reference.to_host()).second);
        },
        report);
    EXPECT_THAT(found, ::testing::SizeIs(3));
    for (const auto& [i, rows] : found) {
      for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_NEAR(rows[k], wanted[i][k], 2e-6);
    }
    EXPECT_EQ(report.effort.on_cpu, failures == 100);
    EXPECT_EQ(twins_ - twins, failures == 100 ? 1 : 0);
  }
}

}  // namespace
}  // namespace skyfix
