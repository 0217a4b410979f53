// `skyfix plan` as a user meets it. Every alternative that it prints is typed again.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "process.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"

namespace skyfix::testing {
namespace {
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

struct PlanOutcome {
  Outcome outcome;
  nlohmann::json json;  // null when none was written
};

PlanOutcome run_plan(Words words) {
  const Scratch scratch;
  const std::string file = scratch / "plan.json";
  words.insert(words.begin(), "plan");
  words.insert(words.end(), {"--json", file});
  PlanOutcome result{skyfix(words), {}};
  if (std::filesystem::exists(file)) result.json = nlohmann::json::parse(read_file(file));
  return result;
}

Words clip(const std::string& width, const std::string& height, const std::string& budget) {
  return {"reconstruct", "--width", width,          "--height", height,
          "--frames",    "111",     "--gpu-memory", budget};
}

Words with(Words words, const std::string& options) {
  for (const std::string_view option : split_blanks(options)) words.emplace_back(option);
  return words;
}

// Status and verdict agree, and what is offered instead fits when it is typed.
void expect_consistent(const Words& words) {
  const PlanOutcome asked = run_plan(words);
  ASSERT_TRUE(asked.json.is_object()) << asked.outcome.err;
  const bool fits = asked.json.at("fits");
  EXPECT_EQ(asked.outcome.status, fits ? 0 : 3);
  EXPECT_EQ(asked.outcome.err, "");
  EXPECT_THAT(asked.outcome.out, HasSubstr(fits ? "It fits." : "It does not fit."));
  if (fits) return;
  EXPECT_GE(asked.json.at("alternatives").size(), 3u);
  for (const auto& each : asked.json.at("alternatives")) {
    const std::string options = each.at("options");
    EXPECT_THAT(asked.outcome.out, HasSubstr(options));
    const PlanOutcome again = run_plan(with(words, options));
    EXPECT_EQ(again.outcome.status, 0) << options << again.outcome.err;
    EXPECT_EQ(again.json.at("fits"), true) << options;
    EXPECT_EQ(again.json.at("peak_bytes"), each.at("peak_bytes")) << options;
  }
}

// A portrait phone video and the same scene in landscape, at three budgets; as the planner would
// do it, and with the settings of the published tools held fixed.
TEST(PlanCommand, PortraitAndLandscapeClipsAtThreeBudgets) {
  const std::string fixed = "--window 64 --kv-dtype bf16 --head-dtype fp32";
  for (const char* budget : {"6GiB", "12GiB", "20GiB"}) {
    const Words portrait = clip("1080", "1920", budget);
    const Words landscape = clip("1920", "1080", budget);
    EXPECT_EQ(run_plan(portrait).json.at("tokens_per_frame"), 1375);
    EXPECT_EQ(run_plan(landscape).json.at("tokens_per_frame"), 783);
    for (const Words& words :
         {portrait, landscape, with(portrait, fixed), with(landscape, fixed)}) {
      SCOPED_TRACE(budget);
      expect_consistent(words);
    }
  }
  EXPECT_EQ(run_plan(with(clip("1080", "1920", "6GiB"), fixed)).outcome.status, 3);
  EXPECT_EQ(run_plan(with(clip("1080", "1920", "20GiB"), fixed)).outcome.status, 0);
}

TEST(PlanCommand, TheTableNamesCacheWeightsWorkspaceAndVerdict) {
  const Outcome outcome = run_plan(clip("1080", "1920", "20GiB")).outcome;
  for (const char* part : {"gct trunk", "kv cache", "activations", "context and libraries",
                           "weights", "workspace", "growth", "1375 tokens", "It fits."}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

TEST(PlanCommand, OwnersAddUpToThePeakWithinTheBudget) {
  const auto json = run_plan(clip("1920", "1080", "8 GiB")).json;
  std::uint64_t sum = 0;
  for (const auto& [owner, bytes] : json.at("by_owner").items()) {
    sum += bytes.get<std::uint64_t>();
  }
  EXPECT_EQ(sum, json.at("peak_bytes").get<std::uint64_t>());
  EXPECT_LE(sum, 8ull << 30);
}

TEST(PlanCommand, SmallBudgetsForEveryJobAreAnswered) {
  for (const char* budget : {"629MiB", "2g"}) {
    SCOPED_TRACE(budget);
    expect_consistent(clip("1920", "1080", budget));
    expect_consistent({"localize", "--width", "4000", "--height", "3000", "--frames", "5",
                       "--features", "mast3r", "--retrieval", "dinov3-vitl16", "--gpu-memory",
                       budget});
    expect_consistent({"localize", "--width", "4000", "--height", "3000", "--frames", "5",
                       "--gpu-memory", budget});
  }
}

TEST(PlanCommand, TheReferenceCacheIsWhatWasAskedFor) {
  const Words localize = {"localize", "--width", "4000", "--height", "3000", "--frames", "5"};
  const auto cache = [&](const std::string& options) {
    return run_plan(with(localize, options)).json.at("settings").at("ref-cache-max-frames");
  };
  EXPECT_EQ(cache("--gpu-memory 8GiB"), "4");
  EXPECT_EQ(cache("--gpu-memory 24GiB"), "8");
  EXPECT_EQ(cache("--gpu-memory 24GiB --ref-cache-max-frames 0"), "0");
}

TEST(PlanCommand, TheCpuNeedsNoGpuMemory) {
  const PlanOutcome plan = run_plan(
      {"reconstruct", "--width", "1920", "--height", "1080", "--frames", "100", "--device", "cpu"});
  EXPECT_EQ(plan.outcome.status, 0) << plan.outcome.err;
  EXPECT_EQ(plan.json.at("peak_bytes"), 0);
  EXPECT_GT(plan.json.at("host_peak_bytes"), 4'000'000'000);
}

TEST(PlanCommand, BadInputIsNoVerdict) {
  const auto expect_refused = [](const Words& words, const std::string& says) {
    const PlanOutcome plan = run_plan(words);
    EXPECT_EQ(plan.outcome.status, 2) << says;
    EXPECT_THAT(plan.outcome.err, HasSubstr(says));
    EXPECT_TRUE(plan.json.is_null());
  };
  for (const char* size : {"lots", "8GiBs", "-8GiB", "0", "nan", "99999999999GiB"}) {
    expect_refused(clip("1920", "1080", size), "--gpu-memory");
  }
  expect_refused(clip("1920", "1080", "100MiB"), "The smallest possible is 628MiB");
  expect_refused(clip("0", "1080", "8GiB"), "--width");
  expect_refused(clip("1920", "-1", "8GiB"), "--height");
  expect_refused(clip("99999999999999999999", "1080", "8GiB"), "--width");
  expect_refused(clip("9000000000000000000", "1080", "8GiB"), "--width");
  expect_refused(clip("1000000", "1", "8GiB"), "no row left");
  const Words good = clip("1920", "1080", "8GiB");
  expect_refused(with(good, "--frames 0"), "--frames");
  expect_refused(with(good, "--window 0"), "--window");
  expect_refused(with(good, "--window many"), "neither a whole number nor auto");
  expect_refused(with(good, "--kv-dtype int4"), "--kv-dtype");
  expect_refused(with(good, "--image-size 500"), "multiple of 14");
  expect_refused(with(good, "--host-memory none"), "--host-memory");
  expect_refused(with(good, "--offload some"), "--offload");
  expect_refused(with(good, "--device tpu"), "--device");
  expect_refused({"reconstruct", "--width", "1920", "--height", "1080", "--frames", "10"},
                 "--gpu-memory 8GiB");
  expect_refused({"localize", "--width", "1920", "--height", "1080", "--frames", "10",
                  "--gpu-memory", "8GiB", "--features", "orb"},
                 "--features");
}

// A year of video at 30 frames a second, and more memory than anybody has.
TEST(PlanCommand, HugeNumbersAreAnswered) {
  const Words year = with(clip("1920", "1080", "8GiB"), "--frames 1000000000");
  expect_consistent(year);
  expect_consistent(with(year, "--tail-frames -1 --keyframe-interval 1"));
  EXPECT_EQ(run_plan(clip("1920", "1080", "1000000TiB")).outcome.status, 0);
}

}  // namespace
}  // namespace skyfix::testing
