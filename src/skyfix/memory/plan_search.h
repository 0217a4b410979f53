// Finding settings that fit: the first of a ladder, the smallest budget, and alternatives to what a
// user fixed. Shared by the planners; everything found is planned before it is offered.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "skyfix/memory/plan.h"

namespace skyfix {

// What a plan is made from.
template <class Request>
struct PlanQuestion {
  Request request;
  Budget budget;
};

template <class Request>
using PlanChange = std::function<void(PlanQuestion<Request>&)>;

// One kind of saving, its mildest step first.
template <class Request>
struct PlanLever {
  std::string what;
  std::vector<PlanChange<Request>> steps;
};

// What the user gave, alone, or all that the planner may choose from.
template <class T>
std::vector<T> given_or(const std::optional<T>& given, std::vector<T> choices) {
  return given ? std::vector<T>{*given} : std::move(choices);
}

// What a plan needs beyond its budgets: of the device, of the host.
inline std::tuple<std::uint64_t, std::uint64_t> excess_of(const Plan& plan) {
  const auto beyond = [](std::uint64_t need, std::uint64_t budget) {
    return need > budget ? need - budget : 0;
  };
  const std::uint64_t host = plan.budget.host_bytes.value_or(UINT64_MAX);
  const bool on_device = plan.device != DeviceKind::cpu;
  return {on_device ? beyond(plan.peak_bytes, plan.budget.gpu_bytes) : 0,
          beyond(plan.host_peak_bytes, host)};
}

// The plan of the first level that fits; if none does, of the first that lacks least: nothing is
// given up that would not help. `levels` go from the best result to the leanest; `make(level)`
// plans one.
template <class Level, class Make>
auto first_that_fits(const std::vector<Level>& levels, const Make& make) {
  const auto need = [](const auto& result) { return excess_of(result.plan); };
  auto best = make(levels.front());
  for (std::size_t i = 1; i < levels.size() && !best.plan.fits; ++i) {
    auto next = make(levels[i]);
    if (next.plan.fits || need(next) < need(best)) best = std::move(next);
  }
  return best;
}

template <class Request>
class PlanSearch {
 public:
  using Question = PlanQuestion<Request>;

  // `plan` answers a question without alternatives. `options` lists everything that a user may set,
  // as typed, in an order that does not depend on the values.
  PlanSearch(std::function<Plan(const Question&)> plan,
             std::function<std::vector<PlanOption>(const Question&)> options)
      : plan_(std::move(plan)), options_(std::move(options)) {}

  // The smallest --gpu-memory, in whole MiB, that fits (1 MiB less does not), with --host-memory
  // raised to what is needed where it is limited. On the CPU only the latter.
  Question smallest_budget_that_fits(Question question) const {
    const std::uint64_t asked_gpu_bytes = question.budget.gpu_bytes;
    question.budget.gpu_bytes = kLargest;
    if (question.budget.host_bytes) raise_host_budget(question);
    if (question.request.device == DeviceKind::cpu) {
      question.budget.gpu_bytes = asked_gpu_bytes;
      return question;
    }
    std::uint64_t low = smallest_budget(question.budget) / kMiB;
    std::uint64_t high = kLargest / kMiB;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      question.budget.gpu_bytes = middle * kMiB;
      if (plan_(question).fits) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    question.budget.gpu_bytes = high * kMiB;
    return question;
  }

  // For each lever its mildest step that fits: alone, or together with the first of `reliefs` (each
  // a set of savings, the mildest first) that makes it fit. What only adds to another alternative
  // is left out. Before them more host memory, where that alone is short; after them the smallest
  // budget as asked. While there are fewer than three: the budget that gives up nothing, the
  // smallest budgets with all savings, with the strongest step of each lever, and with `usual`
  // settings.
  std::vector<PlanAlternative> alternatives(const Question& asked,
                                            const std::vector<PlanLever<Request>>& levers,
                                            const std::vector<PlanChange<Request>>& reliefs,
                                            const PlanChange<Request>& usual) const {
    std::vector<PlanAlternative> found;
    if (const auto more = with_host_memory_for_the_best(asked)) {
      add(asked, *more, "more host memory, all else as it is", found);
    }
    for (const PlanLever<Request>& lever : levers) try_lever(asked, lever, reliefs, found);
    add(asked, budget_raised_to_fit(asked, asked), "the smallest budget for these settings", found);
    if (const auto roomy = roomy_budget(asked); roomy && found.size() < kEnough) {
      add(asked, *roomy, "the budget at which nothing is given up", found);
    }
    add_with_budget(asked, reliefs.back(), "every saving", found);
    for (const PlanLever<Request>& lever : levers) {
      if (!lever.steps.empty()) add_with_budget(asked, lever.steps.back(), lever.what, found);
    }
    add_with_budget(asked, usual, "the usual settings", found);
    return found;
  }

 private:
  static constexpr std::uint64_t kMiB = 1ULL << 20;
  static constexpr std::uint64_t kLargest = 1ULL << 62;
  static constexpr std::uint64_t kRoomy = 8ULL << 30;
  static constexpr std::size_t kEnough = 3;

  static std::uint64_t whole_mib(std::uint64_t bytes) { return (bytes + kMiB - 1) / kMiB * kMiB; }

  // To what the leanest settings need: with a budget of a byte nothing fits, and those are planned.
  void raise_host_budget(Question& question) const {
    const std::uint64_t asked = *question.budget.host_bytes;
    question.budget.host_bytes = 1;
    question.budget.host_bytes = std::max(asked, whole_mib(plan_(question).host_peak_bytes));
  }

  // Where the host alone is short, a smaller GPU budget than asked for would be no help.
  Question budget_raised_to_fit(const Question& asked, const Question& changed) const {
    Question smallest = smallest_budget_that_fits(changed);
    smallest.budget.gpu_bytes = std::max(smallest.budget.gpu_bytes, asked.budget.gpu_bytes);
    return smallest;
  }

  // The smallest budget, in whole MiB, with the settings that 8 GiB would have.
  std::optional<Question> roomy_budget(Question question) const {
    question.budget.gpu_bytes = kRoomy;
    const Plan best = plan_(question);
    if (!best.fits || question.request.device == DeviceKind::cpu) return std::nullopt;
    std::uint64_t low = smallest_budget(question.budget) / kMiB;
    std::uint64_t high = kRoomy / kMiB;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      question.budget.gpu_bytes = middle * kMiB;
      const Plan plan = plan_(question);
      if (plan.fits && plan.settings == best.settings) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    question.budget.gpu_bytes = high * kMiB;
    return question;
  }

  // The host budget that the settings need which the GPU budget alone allows.
  std::optional<Question> with_host_memory_for_the_best(Question question) const {
    if (!question.budget.host_bytes) return std::nullopt;
    question.budget.host_bytes.reset();
    const Plan plan = plan_(question);
    if (!plan.fits) return std::nullopt;
    question.budget.host_bytes = whole_mib(plan.host_peak_bytes);
    return question;
  }

  void try_lever(const Question& asked, const PlanLever<Request>& lever,
                 const std::vector<PlanChange<Request>>& reliefs,
                 std::vector<PlanAlternative>& found) const {
    std::vector<Question> bases = {asked};
    for (const PlanChange<Request>& relief : reliefs) {
      bases.push_back(asked);
      relief(bases.back());
    }
    for (const Question& base : bases) {
      for (const PlanChange<Request>& step : lever.steps) {
        Question changed = base;
        step(changed);
        if (add(asked, changed, lever.what, found)) return;
      }
    }
  }

  void add_with_budget(const Question& asked, const PlanChange<Request>& change,
                       const std::string& what, std::vector<PlanAlternative>& found) const {
    if (found.size() >= kEnough) return;
    Question changed = asked;
    change(changed);
    if (changed.request.device != asked.request.device) return;
    add(asked, budget_raised_to_fit(asked, changed), what + ", with the budget for it", found);
  }

  // Adds the question if it fits and is something new; true if it fits.
  bool add(const Question& asked, const Question& changed, const std::string& what,
           std::vector<PlanAlternative>& found) const {
    const Plan plan = plan_(changed);
    const std::vector<PlanOption> options = difference(options_(asked), options_(changed));
    if (!plan.fits || options.empty()) return false;
    const auto adds_to = [&](const PlanAlternative& other) {
      return std::all_of(other.options.begin(), other.options.end(), [&](const PlanOption& option) {
        return std::find(options.begin(), options.end(), option) != options.end();
      });
    };
    if (std::any_of(found.begin(), found.end(), adds_to)) return true;
    found.push_back({what, options, plan.settings, plan.peak_bytes, plan.host_peak_bytes, true});
    return true;
  }

  static std::vector<PlanOption> difference(const std::vector<PlanOption>& from,
                                            const std::vector<PlanOption>& to) {
    std::vector<PlanOption> changed;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (!(from[i] == to[i])) changed.push_back(to[i]);
    }
    return changed;
  }

  std::function<Plan(const Question&)> plan_;
  std::function<std::vector<PlanOption>(const Question&)> options_;
};

}  // namespace skyfix
