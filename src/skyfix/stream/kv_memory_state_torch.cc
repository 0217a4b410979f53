// A stream's memory as tensors on the host, and filled for measuring.
#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/stream/kv_memory_torch.h"

namespace skyfix {
namespace {

at::Tensor on_host(const at::Tensor& rows, std::int64_t first, std::int64_t count) {
  return rows.narrow(0, first, count).to(at::kCPU).contiguous();
}

std::string camera_name(const std::pair<int, int>& key) {
  return "camera." + std::to_string(key.first) + "." + std::to_string(key.second);
}

const at::Tensor& stored(const StreamMemory::Tensors& tensors, const std::string& name,
                         std::int64_t rows, std::int64_t heads, std::int64_t size) {
  const auto found = tensors.find(name);
  const std::vector<std::int64_t> shape{rows, heads, size};
  if (found == tensors.end() || found->second.sizes() != shape) {
    throw Error(Reason::bad_run, "the checkpoint lacks " + name + ", or its shape is another");
  }
  return found->second;
}

}  // namespace

StreamMemory::Tensors StreamMemory::state() const {
  Tensors tensors;
  const std::int64_t whole = std::min(kept_, slots()) * tokens_, tail = tail_tokens(kept_);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const std::string name = "block." + std::to_string(i);
    if (!block.ring.made()) continue;
    tensors[name + ".ring.k"] = on_host(block.ring.k, tokens_, whole);
    tensors[name + ".ring.v"] = on_host(block.ring.v, tokens_, whole);
    if (tail == 0) continue;
    tensors[name + ".tail.k"] = on_host(block.tail.k, 0, tail);
    tensors[name + ".tail.v"] = on_host(block.tail.v, 0, tail);
  }
  for (const auto& [key, rows] : camera_) {
    tensors[camera_name(key) + ".k"] = on_host(rows.k, 0, camera_tokens_);
    tensors[camera_name(key) + ".v"] = on_host(rows.v, 0, camera_tokens_);
  }
  return tensors;
}

void StreamMemory::restore(const Tensors& tensors, std::int64_t kept, std::int64_t camera_tokens,
                           const at::Device& device) {
  if (kept < 0 || camera_tokens != kept) {
    throw Error(Reason::bad_run, "the checkpoint's counts of frames contradict each other");
  }
  kept_ = kept;
  camera_tokens_ = camera_tokens;
  if (kept == 0) return;
  const std::int64_t whole = std::min(kept_, slots()) * tokens_, tail = tail_tokens(kept_);
  const auto block_rows = [&](const std::string& name, std::int64_t rows) {
    return stored(tensors, name, rows, config_.heads, config_.head_size()).to(device);
  };
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    const std::string name = "block." + std::to_string(i);
    const at::Tensor k = block_rows(name + ".ring.k", whole);
    make_ring(block, k);
    block.ring.k.narrow(0, tokens_, whole).copy_(k);
    block.ring.v.narrow(0, tokens_, whole).copy_(block_rows(name + ".ring.v", whole));
    if (tail == 0) continue;
    reserve(block.tail, 0, tail, k);
    block.tail.k.narrow(0, 0, tail).copy_(block_rows(name + ".tail.k", tail));
    block.tail.v.narrow(0, 0, tail).copy_(block_rows(name + ".tail.v", tail));
  }
  const auto camera_rows = [&](const std::string& name) {
    return stored(tensors, name, camera_tokens_, config_.camera_heads,
                  config_.camera_width() / config_.camera_heads)
        .to(device);
  };
  for (int iteration = 0; tensors.contains(camera_name({iteration, 0}) + ".k"); ++iteration) {
    for (int block = 0; block < config_.camera_blocks; ++block) {
      const std::string name = camera_name({iteration, block});
      const at::Tensor k = camera_rows(name + ".k");
      Rows& rows = camera_[{iteration, block}];
      reserve(rows, 0, camera_tokens_, k);
      rows.k.narrow(0, 0, camera_tokens_).copy_(k);
      rows.v.narrow(0, 0, camera_tokens_).copy_(camera_rows(name + ".v"));
    }
  }
}

void StreamMemory::prefill(std::int64_t frames, int camera_iterations,
                           const at::TensorOptions& trunk, const at::TensorOptions& heads) {
  const std::int64_t whole = std::min(frames, slots()) * tokens_, tail = tail_tokens(frames);
  const auto fill = [](Rows& rows, std::int64_t first, std::int64_t count) {
    rows.k.narrow(0, first, count).normal_();
    rows.v.narrow(0, first, count).normal_();
  };
  const at::Tensor like = at::empty({1, config_.heads, config_.head_size()}, trunk);
  for (Block& block : blocks_) {
    make_ring(block, like);
    fill(block.ring, tokens_, whole);
    if (tail == 0) continue;
    reserve(block.tail, 0, tail, like);
    fill(block.tail, 0, tail);
  }
  const at::Tensor camera =
      at::empty({1, config_.camera_heads, config_.camera_width() / config_.camera_heads}, heads);
  for (int iteration = 0; iteration < camera_iterations; ++iteration) {
    for (int block = 0; block < config_.camera_blocks; ++block) {
      Rows& rows = camera_[{iteration, block}];
      reserve(rows, 0, frames, camera);
      fill(rows, 0, frames);
    }
  }
  kept_ = camera_tokens_ = frames;
}

}  // namespace skyfix
