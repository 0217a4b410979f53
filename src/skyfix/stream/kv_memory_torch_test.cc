#include "skyfix/stream/kv_memory_torch.h"

#include <gmock/gmock.h>

#include <functional>

#include "skyfix/base/error.h"
#include "skyfix/models/gct/testing_memory_torch.h"

namespace skyfix {
namespace {

constexpr std::int64_t kTokens = 9;
constexpr int kBlocks = 2;

GctConfig small_config() {
  GctConfig config = gct_tiny();
  config.pairs = kBlocks;
  return config;
}

// The same calls to both memories, with random rows; what they see must be equal but for rounding.
class Twins {
 public:
  Twins(std::int64_t reserved, std::int64_t window, bool specials = true, std::int64_t most = 0)
      : naive_({.reserved = reserved, .window = window, .specials_of_evicted = specials}, 6),
        memory_(small_config(), kTokens,
                {.reserved = reserved,
                 .window = window,
                 .specials_of_evicted = specials,
                 .most_frames = most}) {
    at::manual_seed(7);
  }

  void call(StreamMemory::Call call, std::int64_t frames = 1) {
    naive_.begin(frames, call != StreamMemory::Call::look);
    memory_.begin(call, frames);
    for (int block = 0; block < kBlocks; ++block) {
      const at::Tensor q = rows(frames * kTokens), k = rows(frames * kTokens),
                       v = rows(frames * kTokens);
      expect_close(memory_.attend(block, q, k, v), naive_.attend(block, q, k, v));
    }
    EXPECT_EQ(memory_.keys_seen(), naive_.keys_seen());
    each_camera_cache([&](int iteration, int block) {
      const at::Tensor q = camera_rows(frames), k = camera_rows(frames), v = camera_rows(frames);
      expect_close(memory_.attend_camera(iteration, block, q, k, v),
                   naive_.attend_camera(iteration, block, q, k, v));
    });
    memory_.end();
  }

  // As call(look), then kept after all; the twin keeps it at once, so what is seen differs.
  void look_and_keep() {
    memory_.begin(StreamMemory::Call::look, 1);
    naive_.begin(1, true);
    for (int block = 0; block < kBlocks; ++block) {
      const at::Tensor q = rows(kTokens), k = rows(kTokens), v = rows(kTokens);
      memory_.attend(block, q, k, v);
      naive_.attend(block, q, k, v);
    }
    each_camera_cache([&](int iteration, int block) {
      const at::Tensor q = camera_rows(1), k = camera_rows(1), v = camera_rows(1);
      memory_.attend_camera(iteration, block, q, k, v);
      naive_.attend_camera(iteration, block, q, k, v);
    });
    memory_.end();
    memory_.keep_last();
  }

  // A call that fails after the first block.
  void fail(StreamMemory::Call call) {
    memory_.begin(call, 1);
    memory_.attend(0, rows(kTokens), rows(kTokens), rows(kTokens));
    memory_.roll_back();
  }

  StreamMemory& memory() { return memory_; }

 private:
  static void each_camera_cache(const std::function<void(int, int)>& use) {
    for (const int iteration : {0, 1}) {
      for (const int block : {0, 1}) use(iteration, block);
    }
  }
  static at::Tensor rows(std::int64_t count) {
    return at::randn({1, count, 2, 32}).transpose(1, 2);
  }
  static at::Tensor camera_rows(std::int64_t count) {
    return at::randn({1, count, 4, 32}).transpose(1, 2);
  }
  static void expect_close(const at::Tensor& found, const at::Tensor& wanted) {
    ASSERT_EQ(found.sizes(), wanted.sizes());
    EXPECT_LE((found - wanted).abs().max().item<double>(), 2e-6);
  }

  gct::NaiveMemory naive_;
  StreamMemory memory_;
};

constexpr auto kFirst = StreamMemory::Call::first, kKeep = StreamMemory::Call::keep,
               kLook = StreamMemory::Call::look;

TEST(StreamMemory, SeesWhatTheNaiveMemorySeesFrameByFrame) {
  for (const std::int64_t scale : {1, 2, 5}) {
    for (const std::int64_t reserved : {0, 1, 2, 4}) {
      for (const std::int64_t window : {1, 2, 3}) {
        for (const int interval : {1, 2, 3}) {
          for (const bool specials : {true, false}) {
            SCOPED_TRACE(::testing::Message() << scale << " " << reserved << " " << window << " "
                                              << interval << " " << specials);
            Twins twins(reserved, window, specials);
            twins.call(kFirst, scale);
            for (int i = 0; i < 9; ++i) twins.call(i % interval == 0 ? kKeep : kLook);
          }
        }
      }
    }
  }
}

TEST(StreamMemory, CountsWhatItHolds) {
  Twins twins(2, 3);
  twins.call(kFirst, 2);
  std::int64_t kept = 2;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 300; ++i) {
    const bool keep = i % 2 == 0;
    twins.call(keep ? kKeep : kLook);
    kept += keep;
    const StreamMemoryFigures figures = twins.memory().figures();
    EXPECT_EQ(figures.kept, kept);
    EXPECT_EQ(figures.whole, std::min<std::int64_t>(kept, 5));
    EXPECT_EQ(figures.tail, std::max<std::int64_t>(kept - 5, 0));
    EXPECT_EQ(figures.camera_tokens, kept);
    const std::int64_t keys = std::min<std::int64_t>(kept, 5) * kTokens + figures.tail * 6;
    EXPECT_EQ(twins.memory().keys_seen(), keys + (keep ? 0 : kTokens));
    EXPECT_GE(figures.bytes, bytes) << "nothing is given back within a stream";
    bytes = figures.bytes;
  }
}

TEST(StreamMemory, MoreFramesThanAnnouncedFindRoom) {
  Twins twins(2, 6, true, 3);
  twins.call(kFirst, 2);
  for (int i = 0; i < 14; ++i) twins.call(i % 4 == 3 ? kLook : kKeep);
}

TEST(StreamMemory, AFailedCallLeavesNoTrace) {
  Twins twins(1, 2);
  twins.call(kFirst, 2);
  for (int i = 0; i < 8; ++i) {
    twins.fail(kKeep);
    twins.fail(kLook);
    twins.call(i % 3 == 2 ? kLook : kKeep);
  }
}

TEST(StreamMemory, AFrameThatOnlyLookedCanBeKeptAfterAll) {
  Twins twins(1, 2);
  twins.call(kFirst, 2);
  for (int i = 0; i < 6; ++i) {
    twins.look_and_keep();
    twins.call(kLook);
    twins.call(kKeep);
  }
}

TEST(StreamMemory, GoesOnFromItsState) {
  Twins twins(2, 3);
  twins.call(kFirst, 2);
  for (int i = 0; i < 7; ++i) twins.call(kKeep);
  const StreamMemoryFigures before = twins.memory().figures();
  StreamMemory copy(small_config(), kTokens, {.reserved = 2, .window = 3});
  copy.restore(twins.memory().state(), before.kept, before.camera_tokens, at::kCPU);
  const auto see = [](StreamMemory& memory) {
    at::manual_seed(3);
    const at::Tensor x = at::randn({1, kTokens, 2, 32}).transpose(1, 2);
    memory.begin(kKeep, 1);
    const at::Tensor seen = memory.attend(1, x, x * 2, x * 3);
    const at::Tensor y = at::randn({1, 1, 4, 32}).transpose(1, 2);
    const at::Tensor camera = memory.attend_camera(1, 1, y, y * 2, y * 3);
    return at::cat({seen.flatten(), camera.flatten()});
  };
  EXPECT_TRUE(see(copy).equal(see(twins.memory())));
}

TEST(StreamMemory, AStateOfAnotherMemoryIsRefused) {
  Twins twins(2, 3);
  twins.call(kFirst, 2);
  const StreamMemory::Tensors state = twins.memory().state();
  const auto refuses = [&](StreamMemory::Tensors tensors, std::int64_t kept,
                           std::int64_t camera_tokens) {
    StreamMemory memory(small_config(), kTokens, {.reserved = 2, .window = 3});
    try {
      memory.restore(tensors, kept, camera_tokens, at::kCPU);
    } catch (const Error& error) {
      return error.reason() == Reason::bad_run;
    }
    return false;
  };
  EXPECT_FALSE(refuses(state, 2, 2));
  EXPECT_TRUE(refuses(state, 3, 3));
  EXPECT_TRUE(refuses(state, 2, 1));
  EXPECT_TRUE(refuses(state, -1, -1));
  for (const std::string name : {"block.1.ring.v", "camera.1.1.k"}) {
    StreamMemory::Tensors other = state;
    other[name] = other.at(name).narrow(2, 0, 16);
    EXPECT_TRUE(refuses(other, 2, 2)) << name;
    other.erase(name);
    EXPECT_TRUE(refuses(other, 2, 2)) << name;
  }
}

TEST(StreamMemory, ARingThatGrowsEndsAtItsFullSize) {
  Twins grown(2, 6, true, 3), whole(2, 6);
  for (Twins* twins : {&grown, &whole}) {
    twins->call(kFirst, 2);
    for (int i = 0; i < 5; ++i) twins->call(kKeep);
  }
  EXPECT_LE(grown.memory().figures().bytes, whole.memory().figures().bytes);
}

TEST(StreamMemory, AFilledOneLooksLikeALongStream) {
  StreamMemory memory(small_config(), kTokens, {.reserved = 2, .window = 3});
  memory.prefill(40, 4, at::kFloat, at::kFloat);
  const StreamMemoryFigures figures = memory.figures();
  EXPECT_EQ(figures.whole, 5);
  EXPECT_EQ(figures.tail, 35);
  EXPECT_EQ(figures.camera_tokens, 40);
  memory.begin(kKeep, 1);
  const at::Tensor x = at::randn({1, kTokens, 2, 32}).transpose(1, 2);
  EXPECT_TRUE(memory.attend(0, x, x, x).isfinite().all().item<bool>());
  EXPECT_EQ(memory.keys_seen(), 5 * kTokens + 36 * 6);
}

}  // namespace
}  // namespace skyfix
