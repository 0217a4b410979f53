// A model's side of its weights: the model asks for every tensor by name and shape, and what is
// missing, misshaped, not finite or left over is told at the end, all of it at once.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <string_view>

#include "skyfix/nn/placement.h"
#include "skyfix/nn/tensor_source.h"

namespace skyfix::nn {

at::ScalarType scalar_type(Precision precision);
at::Device torch_device(DeviceKind device);

// Copies share one account. Keeps the source alive.
class WeightReader {
 public:
  WeightReader(std::shared_ptr<const TensorSource> source, const NetworkPlacement& placement);

  // The tensor on the placement's device in its precision (integers and booleans keep their type),
  // one copy, straight from the mapped file. Synthetic sources make it. What is missing or
  // misshaped is noted, and zeros stand in until finish(). A name is relative to the reader's
  // prefix.
  at::Tensor get(std::string_view name, at::IntArrayRef shape) const;
  // In fp32 whatever the placement says (statistics, frequency tables).
  at::Tensor get_fp32(std::string_view name, at::IntArrayRef shape) const;
  // Undefined when the file has none; for synthetic sources when the rules leave it unfilled.
  at::Tensor find(std::string_view name, at::IntArrayRef shape) const;
  // Whether the file has it. Synthetic sources have none.
  bool has(std::string_view name) const;
  bool synthetic() const;
  const TensorSource& source() const;
  // Known and not needed: no complaint whether it is there or not.
  void skip(std::string_view name) const;
  // Every left-over name with this beginning is known and not needed.
  void skip_under(std::string_view prefix) const;

  WeightReader under(std::string_view prefix) const;  // "blocks.0" -> names "blocks.0.NAME"
  WeightReader in(Precision precision) const;         // the same account, another precision
  const NetworkPlacement& placement() const;
  // What was asked for and found or made so far, on this account.
  struct Figures {
    std::int64_t tensors = 0, values = 0;
  };
  Figures figures() const;

  // Throws Error(bad_weights) that lists (the first 20 of each) missing, misshaped, not finite and
  // unexpected tensors. `model` is named in it.
  void finish(std::string_view model) const;

 private:
  struct Account;
  at::Tensor take(const std::string& name, at::IntArrayRef shape, at::ScalarType type,
                  bool required) const;
  std::shared_ptr<Account> account_;
  NetworkPlacement placement_;
  std::string prefix_;  // empty or ending in "."
};

}  // namespace skyfix::nn
