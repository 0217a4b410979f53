#include "skyfix/memory/budget.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kClampedExcess = 0.08;

std::uint64_t share(std::uint64_t bytes, double of) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * of);
}

std::uint64_t free_less_margin(const CardFacts& card, const Budget& budget) {
  const std::uint64_t margin = std::max(share(card.free_bytes, budget.slack_share()), 256 * kMiB);
  return card.free_bytes - std::min(margin, card.free_bytes);
}

// The requested size, or what the card can give of it.
std::uint64_t within_card(std::uint64_t asked, const CardFacts& card, Budget& budget) {
  if (asked > card.total_bytes + share(card.total_bytes, kClampedExcess)) {
    throw Error(Reason::bad_option,
                fmt::format("--gpu-memory {}: the card has {}, of which {} are free. Give that or "
                            "less.",
                            format_byte_size(asked), format_byte_size(card.total_bytes),
                            format_byte_size(card.free_bytes)));
  }
  const std::uint64_t available = std::min(card.free_bytes, card.total_bytes);
  if (asked <= available) return asked;
  budget.notes.push_back(
      fmt::format("--gpu-memory {} is taken as {}: the card shows {}, of which {} are free",
                  format_byte_size(asked), format_byte_size(available),
                  format_byte_size(card.total_bytes), format_byte_size(card.free_bytes)));
  return available;
}

void check_context_fits(const Budget& budget, bool asked) {
  const std::uint64_t smallest = smallest_budget(budget);
  if (budget.gpu_bytes >= smallest) return;
  throw Error(
      Reason::bad_option,
      fmt::format("{} {}: the driver's context and libraries alone take {} ({}). The "
                  "smallest possible is {}MiB.",
                  asked ? "--gpu-memory" : "free GPU memory", format_byte_size(budget.gpu_bytes),
                  format_byte_size(budget.context_bytes),
                  budget.context_measured ? "measured" : "assumed", smallest / kMiB));
}

}  // namespace

std::uint64_t Budget::cap_bytes() const { return gpu_bytes - std::min(gpu_bytes, context_bytes); }

std::uint64_t smallest_budget(const Budget& budget) {
  return (budget.context_bytes + kSmallestCapBytes + kMiB - 1) / kMiB * kMiB;
}

Budget resolve_budget(const BudgetRequest& request, const std::optional<CardFacts>& card) {
  Budget budget;
  budget.host_bytes = request.host_bytes;
  if (card) {
    budget.expandable_segments = card->virtual_memory;
    if (card->context_bytes > 0) budget.context_bytes = card->context_bytes;
    budget.context_measured = card->context_bytes > 0;
    if (!card->virtual_memory) {
      budget.notes.push_back(
          "this card has no virtual memory management: classic segments, with a larger margin");
    }
  }
  if (!budget.context_measured) {
    budget.notes.push_back(fmt::format("context and libraries are assumed to take {:.2f} GiB",
                                       static_cast<double>(budget.context_bytes) / kGiB));
  }
  if (!request.gpu_bytes && !card) {
    throw Error(Reason::bad_option,
                "no GPU is visible here: say how much memory there will be, e.g. --gpu-memory "
                "8GiB");
  }
  budget.gpu_bytes = request.gpu_bytes ? (card ? within_card(*request.gpu_bytes, *card, budget)
                                               : *request.gpu_bytes)
                                       : free_less_margin(*card, budget);
  check_context_fits(budget, request.gpu_bytes.has_value());
  return budget;
}

}  // namespace skyfix
