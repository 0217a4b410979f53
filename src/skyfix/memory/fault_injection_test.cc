#include "skyfix/memory/fault_injection.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<bool> ask(FaultInjector& injector, const std::vector<std::uint64_t>& sizes) {
  std::vector<bool> answers;
  answers.reserve(sizes.size());
  for (const std::uint64_t bytes : sizes) answers.push_back(injector.fails(bytes));
  return answers;
}

TEST(FaultPlan, IsReadFromText) {
  EXPECT_FALSE(parse_fault_plan("", "--faults").any());
  EXPECT_FALSE(parse_fault_plan("  ", "--faults").any());
  EXPECT_EQ(parse_fault_plan("nth=3", "--faults").nth, 3);
  EXPECT_EQ(parse_fault_plan("above=4MiB", "--faults").above_bytes, 4 << 20);
  const FaultPlan plan =
      parse_fault_plan(" nth = 12 , above=1KiB,probability=0.01, seed=7", "--faults");
  EXPECT_EQ(plan.nth, 12);
  EXPECT_EQ(plan.above_bytes, 1024);
  EXPECT_EQ(plan.probability, 0.01);
  EXPECT_EQ(plan.seed, 7);
  EXPECT_FALSE(parse_fault_plan("probability=0", "--faults").any());
}

TEST(FaultPlan, NonsenseIsRefusedByNameOfTheOption) {
  for (const std::string text : {"nth",
                                 "nth=",
                                 "nth=0",
                                 "nth=-1",
                                 "nth=1.5",
                                 "nth=99999999999999999999",
                                 "above=",
                                 "above=x",
                                 "probability=1.01",
                                 "probability=-0.1",
                                 "probability=nan",
                                 "seed=7",
                                 "seed=-1",
                                 "first=2",
                                 "nth=1,",
                                 ",nth=1",
                                 "nth=1,nth=2",
                                 "nth=1 above=2",
                                 "=",
                                 ",",
                                 "probability=0.1,seed=x"}) {
    try {
      parse_fault_plan(text, "--faults");
      ADD_FAILURE() << text << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::bad_option) << text;
      EXPECT_THAT(error.message(), HasSubstr("--faults")) << text;
    }
  }
}

// Whatever is typed is a plan or an Error, nothing else.
TEST(FaultPlan, AnyTextIsReadOrRefused) {
  const std::string letters = "nthabovepilyseed=,.0123456789 KiMB-";
  const std::vector<std::string> words = {
      "nth=", "above=", "probability=", "seed=", ",", "1", "MiB"};
  std::mt19937 random(5);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned parts = random() % 5; parts > 0; --parts) {
      text += random() % 4 ? words[random() % words.size()]
                           : std::string(1, letters[random() % letters.size()]);
    }
    try {
      const FaultPlan plan = parse_fault_plan(text, "--faults");
      ++read;
      EXPECT_TRUE(plan.probability >= 0 && plan.probability <= 1) << text;
      EXPECT_GT(plan.nth.value_or(1), 0) << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::bad_option) << text;
    }
  }
  EXPECT_GT(read, 100);
}

TEST(FaultInjector, WithoutAPlanItOnlyCounts) {
  FaultInjector injector;
  EXPECT_THAT(ask(injector, {1, UINT64_MAX, 5}), ElementsAre(false, false, false));
  EXPECT_EQ(injector.seen(), 3);
  EXPECT_EQ(injector.injected(), 0);
}

TEST(FaultInjector, TheNthAloneFails) {
  FaultInjector injector({.nth = 2});
  EXPECT_THAT(ask(injector, {9, 9, 9, 9}), ElementsAre(false, true, false, false));
  EXPECT_EQ(injector.injected(), 1);
}

TEST(FaultInjector, EveryLargerOneFails) {
  FaultInjector injector({.above_bytes = 100});
  EXPECT_THAT(ask(injector, {100, 101, 5, 1000}), ElementsAre(false, true, false, true));
  EXPECT_EQ(injector.injected(), 2);
}

TEST(FaultInjector, AnyOfTheConditionsIsEnough) {
  FaultInjector injector({.nth = 1, .above_bytes = 100, .probability = 1});
  EXPECT_THAT(ask(injector, {5, 5, 500}), ElementsAre(true, true, true));
  EXPECT_EQ(injector.injected(), 3);
}

TEST(FaultInjector, ProbabilityIsMetAndTheSeedRepeatsIt) {
  const std::vector<std::uint64_t> sizes(20000, 8);
  FaultInjector one({.probability = 0.1, .seed = 7});
  FaultInjector same({.probability = 0.1, .seed = 7});
  FaultInjector other({.probability = 0.1, .seed = 8});
  const auto answers = ask(one, sizes);
  EXPECT_EQ(answers, ask(same, sizes));
  EXPECT_NE(answers, ask(other, sizes));
  // 5 standard deviations of a binomial with n = 20000, p = 0.1 are 212.
  EXPECT_NEAR(one.injected(), 2000, 212);
}

TEST(FaultInjector, TheOtherConditionsDoNotMoveTheDraws) {
  const std::vector<std::uint64_t> sizes(1000, 8);
  FaultInjector alone({.probability = 0.1, .seed = 7});
  FaultInjector with_nth({.nth = 1, .probability = 0.1, .seed = 7});
  auto expected = ask(alone, sizes);
  ASSERT_FALSE(expected[0]);
  expected[0] = true;
  EXPECT_EQ(ask(with_nth, sizes), expected);
}

TEST(FaultInjector, ThreadsTogetherSeeTheNthOnce) {
  FaultInjector injector({.nth = 1500});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] { ask(injector, std::vector<std::uint64_t>(1000, 1)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(injector.seen(), 4000);
  EXPECT_EQ(injector.injected(), 1);
}

}  // namespace
}  // namespace skyfix
