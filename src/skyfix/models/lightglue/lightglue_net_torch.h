// LightGlue's layers, one at a time. Specification: aliked_lightglue.md, section 3.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "skyfix/models/lightglue/lightglue.h"
#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::lightglue {

// The keypoints of one picture on their way through the layers.
struct Side {
  at::Tensor state;     // [1, n, width] in the weights' precision
  at::Tensor sin, cos;  // [n, head size] fp32: the position code, halves alike
  at::Tensor rows;      // int64 [n]: which of the given keypoints are left, rising

  std::int64_t size() const { return state.size(1); }
  void keep(const at::Tensor& mask);  // bool [n]
};

// x + ffn(concat(x, message)).
class Update {
 public:
  Update(const nn::WeightReader& weights, std::int64_t width);
  at::Tensor operator()(const at::Tensor& state, const at::Tensor& message) const;

 private:
  nn::Linear first_;
  nn::LayerNorm norm_;
  nn::Linear second_;
};

class SelfAttention {
 public:
  SelfAttention(const nn::WeightReader& weights, std::int64_t width, std::int64_t heads);
  at::Tensor operator()(const Side& side) const;  // the new state

 private:
  std::int64_t heads_;
  // The file's rows are [head][channel][q, k, v] with pairs of neighbouring channels turned
  // together; held as [q, k, v][head][channel] with the even channels of q and k before the odd
  // ones, so that halves are turned instead. Products of q and k do not see their common order.
  nn::Linear qkv_;
  nn::Linear out_;
  Update update_;
};

class CrossAttention {
 public:
  CrossAttention(const nn::WeightReader& weights, std::int64_t width, std::int64_t heads);
  void operator()(Side& first, Side& second) const;

 private:
  at::Tensor message(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;

  std::int64_t heads_;
  nn::Linear qk_, v_, out_;
  Update update_;
};

struct Assignment {
  at::Tensor best_of_first;   // int64 [m]: the best row of the second side
  at::Tensor best_of_second;  // int64 [n]
  at::Tensor score;           // fp32 [m]: probability of the best pair of each row
};

class Net {
 public:
  // Names without prefix; those of older files are accepted.
  Net(const nn::WeightReader& weights, const LightGlueConfig& config);

  // xy: fp32 [n, 2], pixels with integer centres; descriptors: [n, input].
  Side side(const at::Tensor& xy, const at::Tensor& descriptors, int width_px, int height_px) const;
  void run_self(int layer, Side& side) const { side.state = self_[layer](side); }
  void run_cross(int layer, Side& first, Side& second) const { cross_[layer](first, second); }
  // How sure each point is that it needs no more layers, [n] fp32 in 0..1; not of the last layer.
  at::Tensor confidence(int layer, const at::Tensor& state) const;
  // Logit [n] fp32 of whether a point has a partner.
  at::Tensor matchability(int layer, const at::Tensor& state) const;
  // Logarithm of the probability of each pair, [m, n] fp32.
  at::Tensor log_assignment(int layer, const Side& first, const Side& second) const;
  Assignment assign(int layer, const Side& first, const Side& second) const;
  at::Device device() const { return input_.weight.device(); }

 private:
  struct Ends {
    nn::Linear matchability, projection;  // fp32
  };
  nn::Linear input_;
  at::Tensor frequencies_;  // fp32 [head size / 2, 2]
  std::vector<SelfAttention> self_;
  std::vector<CrossAttention> cross_;
  std::vector<Ends> ends_;
  std::vector<nn::Linear> confidence_;  // fp32
  double projection_scale_;
};

// Runs layers until both sides are sure or the last one is done, and drops points that will not
// match, as `config` says. Returns how many layers were run; a side may be left without points.
// Both sides have been through run_self(0): it does not know the other, so one run serves many.
int run_layers(const Net& net, const LightGlueConfig& config, Side& first, Side& second);

}  // namespace skyfix::lightglue
