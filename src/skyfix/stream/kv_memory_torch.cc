#include "skyfix/stream/kv_memory_torch.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "skyfix/memory/owner_scope.h"
#include "skyfix/nn/layers_torch.h"

namespace skyfix {
namespace {

constexpr std::string_view kCacheOwner = "kv cache";
constexpr std::int64_t kGrowth = 256;  // rows at least, when a growing part is full

// [1, heads, tokens, size] as the cache has it, [tokens, heads, size]; a view.
at::Tensor as_rows(const at::Tensor& heads) { return heads.squeeze(0).transpose(0, 1); }
at::Tensor as_heads(const at::Tensor& rows) { return rows.transpose(0, 1).unsqueeze(0); }

double scale_of(const at::Tensor& q) { return 1 / std::sqrt(static_cast<double>(q.size(-1))); }

}  // namespace

StreamMemory::StreamMemory(const GctConfig& config, std::int64_t tokens_per_frame,
                           const StreamMemoryOptions& options)
    : config_(config),
      options_(options),
      tokens_(tokens_per_frame),
      special_(config.special_tokens()),
      blocks_(config.pairs) {}

std::int64_t StreamMemory::made_slots() const {
  return options_.most_frames > 0 ? std::min(slots(), options_.most_frames) : slots();
}

// Where the rows of kept frame `frame` (from 0) begin, or those of the frame that it replaces.
std::int64_t StreamMemory::slot_row(std::int64_t frame) const {
  const std::int64_t slot = frame < options_.reserved
                                ? frame
                                : options_.reserved + (frame - options_.reserved) % options_.window;
  return (1 + slot) * tokens_;
}

std::int64_t StreamMemory::tail_tokens(std::int64_t kept) const {
  return options_.specials_of_evicted ? special_ * std::max<std::int64_t>(kept - slots(), 0) : 0;
}

void StreamMemory::make_ring(Block& block, const at::Tensor& like) const {
  const OwnerScope owner(kCacheOwner);
  const std::int64_t slots = std::max(made_slots(), call_ == Call::first ? frames_ : 0);
  const std::vector<std::int64_t> shape{(1 + slots) * tokens_, like.size(1), like.size(2)};
  block.ring = {at::empty(shape, like.options()), at::empty(shape, like.options())};
}

void StreamMemory::reserve(Rows& rows, std::int64_t used, std::int64_t wanted,
                           const at::Tensor& like, std::int64_t most) {
  const std::int64_t capacity = rows.made() ? rows.k.size(0) : 0;
  if (wanted <= capacity) return;
  const OwnerScope owner(kCacheOwner);
  // By halves: few moves, and little that is never used.
  const std::int64_t grown =
      std::max(wanted, std::min(most, capacity + std::max(capacity / 2, kGrowth)));
  Rows larger{at::empty({grown, like.size(1), like.size(2)}, like.options()),
              at::empty({grown, like.size(1), like.size(2)}, like.options())};
  if (used > 0) {
    larger.k.narrow(0, 0, used).copy_(rows.k.narrow(0, 0, used));
    larger.v.narrow(0, 0, used).copy_(rows.v.narrow(0, 0, used));
  }
  rows = std::move(larger);
}

void StreamMemory::begin(Call call, std::int64_t frames) {
  assert(call == Call::first ? kept_ == 0 : frames == 1 && kept_ > 0);
  call_ = call;
  frames_ = frames;
  for (Block& block : blocks_) block.replaced = false;
}

void StreamMemory::end() {
  if (call_ == Call::look) return;
  kept_ += frames_;
  camera_tokens_ += frames_;
}

void StreamMemory::roll_back() {
  for (Block& block : blocks_) {
    if (!block.replaced) continue;
    block.replaced = false;
    const std::int64_t row = slot_row(kept_);
    block.ring.k.narrow(0, row, tokens_).copy_(block.ring.k.narrow(0, 0, tokens_));
    block.ring.v.narrow(0, row, tokens_).copy_(block.ring.v.narrow(0, 0, tokens_));
  }
}

void StreamMemory::append_specials(Block& block, std::int64_t row, std::int64_t at,
                                   const Rows& from) {
  reserve(block.tail, at, at + special_, from.k);
  block.tail.k.narrow(0, at, special_).copy_(from.k.narrow(0, row, special_));
  block.tail.v.narrow(0, at, special_).copy_(from.v.narrow(0, row, special_));
}

// The first call's frames; those that a small window has no room for leave at once.
void StreamMemory::store_first(Block& block, const at::Tensor& k, const at::Tensor& v) {
  const Rows own{k, v};
  std::int64_t tail = 0;
  for (std::int64_t i = 0; i < frames_; ++i) {
    const bool whole = i < options_.reserved || i >= frames_ - options_.window;
    if (whole) {
      const std::int64_t row = slot_row(i);
      block.ring.k.narrow(0, row, tokens_).copy_(k.narrow(0, i * tokens_, tokens_));
      block.ring.v.narrow(0, row, tokens_).copy_(v.narrow(0, i * tokens_, tokens_));
    } else if (options_.specials_of_evicted) {
      append_specials(block, i * tokens_, tail, own);
      tail += special_;
    }
  }
}

// The frame's rows go where those of the frame that leaves were; these wait in the scratch in case
// the call fails.
void StreamMemory::take_slot(Block& block, const at::Tensor& k, const at::Tensor& v) {
  const std::int64_t row = slot_row(kept_);
  // More frames than were announced.
  reserve(block.ring, row, row + tokens_, k, ring_rows());
  const at::Tensor slot_k = block.ring.k.narrow(0, row, tokens_),
                   slot_v = block.ring.v.narrow(0, row, tokens_);
  if (evicts(kept_)) {
    if (options_.specials_of_evicted) append_specials(block, row, tail_tokens(kept_), block.ring);
    block.ring.k.narrow(0, 0, tokens_).copy_(slot_k);
    block.ring.v.narrow(0, 0, tokens_).copy_(slot_v);
    block.replaced = true;
  }
  slot_k.copy_(k);
  slot_v.copy_(v);
}

at::Tensor StreamMemory::seen(const Block& block, const at::Tensor& q, std::int64_t first,
                              std::int64_t rows, std::int64_t tail) {
  keys_seen_ = rows + tail;
  const at::Tensor k = block.ring.k.narrow(0, first, rows), v = block.ring.v.narrow(0, first, rows);
  // While the window fills up every frame has another shape.
  const bool filling = rows < slots() * tokens_;
  if (filling && tail == 0) return nn::attention(q, as_heads(k), as_heads(v), scale_of(q));
  const at::Tensor own = as_rows(q);
  const auto whole = nn::attend_part(
      own, k, v, scale_of(q), filling ? nn::AttentionKernel::flash : nn::AttentionKernel::fixed);
  if (tail == 0) return as_heads(whole.out);
  const auto specials =
      nn::attend_part(own, block.tail.k.narrow(0, 0, tail), block.tail.v.narrow(0, 0, tail),
                      scale_of(q), nn::AttentionKernel::flash);
  return as_heads(nn::merge_parts(whole, specials));
}

at::Tensor StreamMemory::attend(int index, const at::Tensor& q, const at::Tensor& k,
                                const at::Tensor& v) {
  Block& block = blocks_.at(index);
  const at::Tensor own_k = as_rows(k), own_v = as_rows(v);
  if (!block.ring.made()) make_ring(block, own_k);
  if (call_ == Call::first) {
    store_first(block, own_k, own_v);
    keys_seen_ = k.size(2);
    return nn::attention(q, k, v, scale_of(q));
  }
  if (call_ == Call::keep) {
    take_slot(block, own_k, own_v);
    return seen(block, q, tokens_, std::min(kept_ + 1, slots()) * tokens_, tail_tokens(kept_ + 1));
  }
  block.ring.k.narrow(0, 0, tokens_).copy_(own_k);
  block.ring.v.narrow(0, 0, tokens_).copy_(own_v);
  return seen(block, q, 0, (1 + std::min(kept_, slots())) * tokens_, tail_tokens(kept_));
}

at::Tensor StreamMemory::attend_camera(int iteration, int block, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v) {
  Rows& rows = camera_[{iteration, block}];
  const std::int64_t all = camera_tokens_ + k.size(2);
  reserve(rows, camera_tokens_, all, as_rows(k));
  // A frame that is not kept is overwritten by the next.
  rows.k.narrow(0, camera_tokens_, k.size(2)).copy_(as_rows(k));
  rows.v.narrow(0, camera_tokens_, k.size(2)).copy_(as_rows(v));
  return nn::attention(q, as_heads(rows.k.narrow(0, 0, all)), as_heads(rows.v.narrow(0, 0, all)),
                       scale_of(q));
}

void StreamMemory::keep_last() {
  assert(call_ == Call::look);
  const bool into_tail = evicts(kept_) && options_.specials_of_evicted;
  const std::int64_t row = slot_row(kept_), tail = tail_tokens(kept_);
  // All memory that this takes is taken before anything is moved.
  for (Block& block : blocks_) {
    if (into_tail) reserve(block.tail, tail, tail + special_, block.ring.k);
    reserve(block.ring, row, row + tokens_, block.ring.k, ring_rows());
  }
  for (Block& block : blocks_) {
    if (into_tail) append_specials(block, row, tail, block.ring);
    block.ring.k.narrow(0, row, tokens_).copy_(block.ring.k.narrow(0, 0, tokens_));
    block.ring.v.narrow(0, row, tokens_).copy_(block.ring.v.narrow(0, 0, tokens_));
  }
  ++kept_;
  ++camera_tokens_;
}

StreamMemoryFigures StreamMemory::figures() const {
  StreamMemoryFigures figures;
  figures.kept = kept_;
  figures.whole = std::min(kept_, slots());
  figures.tail = tail_tokens(kept_) / special_;
  figures.camera_tokens = camera_tokens_;
  for (const Block& block : blocks_) figures.bytes += block.ring.bytes() + block.tail.bytes();
  for (const auto& [key, rows] : camera_) figures.bytes += rows.bytes();
  return figures;
}

}  // namespace skyfix
