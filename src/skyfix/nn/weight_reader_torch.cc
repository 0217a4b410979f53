#include "skyfix/nn/weight_reader_torch.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <set>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/base/parallel.h"
#include "skyfix/memory/cuda_library.h"
#include "skyfix/nn/element_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::nn {
namespace {

constexpr std::size_t kNamesListed = 20;

// The file's bytes as a tensor; nothing is copied unless they are not aligned for their type.
at::Tensor view_of(const StoredTensor& stored) {
  const at::TensorOptions type = at::dtype(scalar_type_of(stored.type));
  void* bytes = const_cast<std::byte*>(stored.bytes.data());
  if (stored.bytes.empty()) return at::empty(stored.shape, type);
  if (reinterpret_cast<std::uintptr_t>(bytes) % element_bytes(stored.type) == 0) {
    return at::from_blob(bytes, stored.shape, type);
  }
  return copy_of(stored);
}

void list_names(std::string& text, std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text += text.empty() ? "" : "; ";
  text += std::to_string(names.size()) + " " + std::string(what) + ": ";
  for (std::size_t i = 0; i < std::min(names.size(), kNamesListed); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  if (names.size() > kNamesListed) text += ", ...";
}

}  // namespace

at::ScalarType scalar_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return at::kFloat;
    case Precision::bf16:
      return at::kBFloat16;
    case Precision::fp16:
      return at::kHalf;
  }
  return at::kFloat;
}

at::Device torch_device(DeviceKind device) {
  if (device == DeviceKind::cpu) return at::Device(at::kCPU);
  const std::string problem = why_no_gpu();
  if (!problem.empty()) throw Error(Reason::no_gpu, "no GPU can be used: " + problem);
  at::globalContext().lazyInitDevice(at::kCUDA);
  // NoTF32Guard does not reach cuDNN's convolutions.
  at::globalContext().setAllowTF32CuDNN(false);
  return at::Device(at::kCUDA, 0);
}

struct WeightReader::Account {
  std::shared_ptr<const TensorSource> source;
  std::set<std::string, std::less<>> known;
  std::vector<std::string> known_prefixes;
  std::vector<std::string> missing;
  std::vector<std::string> misshaped;  // with both shapes
  std::vector<std::string> not_finite;
  Figures figures;

  void count(const at::Tensor& tensor) {
    ++figures.tensors;
    figures.values += tensor.numel();
  }
};

WeightReader::WeightReader(std::shared_ptr<const TensorSource> source,
                           const NetworkPlacement& placement)
    : account_(std::make_shared<Account>()), placement_(placement) {
  account_->source = std::move(source);
  at::set_num_threads(static_cast<int>(thread_count()));  // what --threads says holds for networks
}

at::Tensor WeightReader::take(const std::string& name, at::IntArrayRef shape, at::ScalarType type,
                              bool required) const {
  const at::Device device = torch_device(placement_.device);
  account_->known.insert(name);
  if (synthetic()) {
    at::Tensor made = at::empty(shape, at::kFloat);
    if (fill_synthetic(name, shape, {made.data_ptr<float>(), std::size_t(made.numel())})) {
      account_->count(made);
      return made.to(device, type);
    }
    return required ? at::zeros(shape, at::dtype(type).device(device)) : at::Tensor();
  }
  const StoredTensor* stored = account_->source->find(name);
  if (stored == nullptr) {
    if (!required) return {};
    account_->missing.push_back(name);
    return at::zeros(shape, at::dtype(type).device(device));
  }
  if (!shape.equals(stored->shape)) {
    account_->misshaped.push_back(name + " is " + shape_text(stored->shape) + ", not " +
                                  shape_text(shape));
    return at::zeros(shape, at::dtype(type).device(device));
  }
  const at::Tensor view = view_of(*stored);
  account_->count(view);
  if (!view.is_floating_point()) return view.to(device, view.scalar_type(), false, true);
  if (!view.isfinite().all().item<bool>()) account_->not_finite.push_back(name);
  return view.to(device, type, /*non_blocking=*/false, /*copy=*/true);
}

at::Tensor WeightReader::get(std::string_view name, at::IntArrayRef shape) const {
  return take(prefix_ + std::string(name), shape, scalar_type(placement_.precision), true);
}

at::Tensor WeightReader::get_fp32(std::string_view name, at::IntArrayRef shape) const {
  return take(prefix_ + std::string(name), shape, at::kFloat, true);
}

at::Tensor WeightReader::find(std::string_view name, at::IntArrayRef shape) const {
  return take(prefix_ + std::string(name), shape, scalar_type(placement_.precision), false);
}

bool WeightReader::has(std::string_view name) const {
  return account_->source->find(prefix_ + std::string(name)) != nullptr;
}

bool WeightReader::synthetic() const { return account_->source->synthetic(); }

const TensorSource& WeightReader::source() const { return *account_->source; }

void WeightReader::skip(std::string_view name) const {
  account_->known.insert(prefix_ + std::string(name));
}

void WeightReader::skip_under(std::string_view prefix) const {
  account_->known_prefixes.push_back(prefix_ + std::string(prefix));
}

WeightReader WeightReader::under(std::string_view prefix) const {
  WeightReader reader = *this;
  reader.prefix_ += std::string(prefix) + ".";
  return reader;
}

WeightReader WeightReader::in(Precision precision) const {
  WeightReader reader = *this;
  reader.placement_.precision = precision;
  return reader;
}

const NetworkPlacement& WeightReader::placement() const { return placement_; }

WeightReader::Figures WeightReader::figures() const { return account_->figures; }

void WeightReader::finish(std::string_view model) const {
  std::vector<std::string> unexpected;
  for (const std::string& name : account_->source->names()) {
    const bool known =
        account_->known.contains(name) ||
        std::any_of(account_->known_prefixes.begin(), account_->known_prefixes.end(),
                    [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (!known) unexpected.push_back(name);
  }
  std::string faults;
  list_names(faults, "tensors are missing", account_->missing);
  list_names(faults, "tensors have another shape", account_->misshaped);
  list_names(faults, "tensors hold NaN or infinite values", account_->not_finite);
  list_names(faults, "tensors do not belong to it", unexpected);
  if (faults.empty()) return;
  throw Error(Reason::bad_weights,
              "these are not usable weights of " + std::string(model) + ": " + faults,
              account_->source->description());
}

}  // namespace skyfix::nn
