// How much memory a run may use. `--gpu-memory SIZE` is all of the process's device memory: the
// driver's context and the libraries' workspaces are inside it, and what remains is a hard cap on
// the allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyfix {

// Context and library workspaces (cuBLAS, cuDNN) of a process where nobody has measured them. An
// assumption: contexts of 0.4 to 0.5 GiB and workspaces of about 0.1 GiB are usual.
inline constexpr std::uint64_t kAssumedContextBytes = 590'558'003;  // 0.55 GiB
// The least that is worth starting with beyond the context; the allocator rounds up to this anyway.
inline constexpr std::uint64_t kSmallestCapBytes = 64ULL << 20;

// What is known of a card, when there is one.
struct CardFacts {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;     // for this process: its own context counts as free
  std::uint64_t context_bytes = 0;  // measured; 0 = not measured
  bool virtual_memory = true;       // false: no expandable segments (some vGPUs, old drivers)
};

struct BudgetRequest {
  std::optional<std::uint64_t> gpu_bytes = {};   // --gpu-memory
  std::optional<std::uint64_t> host_bytes = {};  // --host-memory
};

struct Budget {
  std::uint64_t gpu_bytes = 0;  // the whole process; after clamping
  std::uint64_t context_bytes = kAssumedContextBytes;
  bool context_measured = false;
  std::optional<std::uint64_t> host_bytes;  // none: nobody set a limit
  bool expandable_segments = true;
  std::vector<std::string> notes;  // what was assumed or clamped, a sentence each

  // What the allocator may reserve.
  std::uint64_t cap_bytes() const;
  // The share by which reserved memory may exceed what is handed out: 5 % with expandable segments
  // (which grow in place), 12 % with classic ones (which leave holes).
  double slack_share() const { return expandable_segments ? 0.05 : 0.12; }
};

// Without a request: what is free less the larger of 5 % (12 % without expandable segments) and
// 256 MiB. A request up to 8 % above what the card shows is clamped to it with a note, so that 8GiB
// runs on an 8 GiB card, which shows about 7.7; so is one for more than other programs have left.
// Throws Error(bad_option): beyond that; below smallest_budget(); and where neither a size nor a
// card is known.
Budget resolve_budget(const BudgetRequest& request, const std::optional<CardFacts>& card);

// Context and the smallest cap, rounded up to a MiB: a budget below it cannot hold anything.
std::uint64_t smallest_budget(const Budget& budget);

}  // namespace skyfix
