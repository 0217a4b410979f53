// What a stream remembers of its frames: keys and values of the global blocks within a window, the
// special tokens of frames that left it, and the camera head's tokens (specification: gctstream.md
// sections 6.3, 6.4 and 7). The twin, which keeps everything and chooses anew at every call, is
// models/gct/testing_memory_torch.h.
//
// A block's rows lie token by token in one buffer [scratch | ring]: a frame's own rows where it is
// not kept, then `reserved` + `window` slots of a frame each. The order of keys has no meaning once
// they are rotated, so a slot is overwritten by the frame that comes `window` frames later, and
// what a frame sees is one range of the buffer: nothing is moved or joined. Special tokens of
// evicted frames are a second, growing part, whose attention is merged with the first's.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "skyfix/models/gct/gct_torch.h"
#include "skyfix/nn/attention_parts_torch.h"

namespace skyfix {

struct StreamMemoryOptions {
  std::int64_t reserved = 8;  // first kept frames, whole for ever
  std::int64_t window = 64;   // last kept frames, whole
  bool specials_of_evicted = true;
  // Frames that will be kept, as far as that is known: slots for no more are made at first; 0 =
  // unknown.
  std::int64_t most_frames = 0;
};

// Counts of frames unless said otherwise.
struct StreamMemoryFigures {
  std::int64_t kept = 0;   // so far, whole or not
  std::int64_t whole = 0;  // remembered whole now
  std::int64_t tail = 0;   // remembered by their special tokens
  std::int64_t camera_tokens = 0;
  std::uint64_t bytes = 0;  // of all buffers, as allocated
};

class StreamMemory : public GctMemory {
 public:
  // For frames of `tokens_per_frame`; buffers are made at the first call.
  StreamMemory(const GctConfig& config, std::int64_t tokens_per_frame,
               const StreamMemoryOptions& options);

  enum class Call {
    first,  // the scale frames: they see each other, all are kept; the memory must be empty
    keep,   // one frame: the oldest one of a full window leaves, then the frame sees the rest
    look,   // one frame that is not kept; it sees one frame more than it would if it were
  };
  // Before the network runs; then end(), or roll_back() if it threw: all is then as before begin().
  void begin(Call call, std::int64_t frames);
  void end();
  void roll_back();
  // After a `look` that has ended: keeps its frame after all. (Its rows lie in the scratch.)
  void keep_last();

  at::Tensor attend(int block, const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& v) override;
  at::Tensor attend_camera(int iteration, int block, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v) override;

  std::int64_t kept() const { return kept_; }
  std::int64_t keys_seen() const { return keys_seen_; }  // by a global block in the last call
  StreamMemoryFigures figures() const;

  // As if `frames` frames had been kept, with random rows of unit size: a long stream's steady
  // state for measuring. The memory must be empty.
  void prefill(std::int64_t frames, int camera_iterations, const at::TensorOptions& trunk,
               const at::TensorOptions& heads);

  // Rows in use by name, on the host, to be stored; and back.
  using Tensors = std::map<std::string, at::Tensor>;
  Tensors state() const;
  // `kept` and `camera_tokens` as figures() gave them. Throws Error(bad_run) for what cannot be the
  // state of such a memory.
  void restore(const Tensors& tensors, std::int64_t kept, std::int64_t camera_tokens,
               const at::Device& device);

 private:
  struct Rows {
    at::Tensor k, v;  // [capacity, heads, size]
    bool made() const { return k.defined(); }
    std::uint64_t bytes() const { return made() ? k.nbytes() + v.nbytes() : 0; }
  };
  struct Block {
    Rows ring;  // scratch and slots
    Rows tail;
    bool replaced = false;  // this call's frame took a slot, whose rows are in the scratch
  };

  void make_ring(Block& block, const at::Tensor& like) const;
  // Room for `wanted` rows and, up to `most`, for more; the first `used` ones are kept.
  static void reserve(Rows& rows, std::int64_t used, std::int64_t wanted, const at::Tensor& like,
                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::int64_t ring_rows() const { return (1 + slots()) * tokens_; }  // of a full one
  std::int64_t slots() const { return options_.reserved + options_.window; }
  std::int64_t made_slots() const;
  std::int64_t slot_row(std::int64_t frame) const;
  bool evicts(std::int64_t frame) const { return frame >= slots(); }
  std::int64_t tail_tokens(std::int64_t kept) const;
  void store_first(Block& block, const at::Tensor& k, const at::Tensor& v);
  void take_slot(Block& block, const at::Tensor& k, const at::Tensor& v);
  void append_specials(Block& block, std::int64_t row, std::int64_t at, const Rows& from);
  at::Tensor seen(const Block& block, const at::Tensor& q, std::int64_t first, std::int64_t rows,
                  std::int64_t tail);

  GctConfig config_;
  StreamMemoryOptions options_;
  std::int64_t tokens_;
  std::int64_t special_;
  std::vector<Block> blocks_;
  std::map<std::pair<int, int>, Rows> camera_;
  std::int64_t kept_ = 0;
  std::int64_t camera_tokens_ = 0;
  std::int64_t keys_seen_ = 0;
  Call call_ = Call::first;
  std::int64_t frames_ = 0;  // of this call
};

}  // namespace skyfix
