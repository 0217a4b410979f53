#include "bench/naive_matcher.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "skyfix/memory/torch_errors.h"

namespace skyfix::bench {
namespace {

at::Tensor rows_of(DescriptorView view) {
  return at::from_blob(const_cast<float*>(view.data), {view.rows, view.dimension}, at::kFloat);
}

}  // namespace

struct NaiveMatcher::State {
  explicit State(at::Device on) : on(on) {}

  at::Tensor keep(at::Tensor tensor) {
    held.push_back(tensor);
    return tensor;
  }

  // The reference's rows in the frame that stays on the device.
  at::Tensor reference_rows(const PoolReference& reference, std::int64_t pixels) {
    const std::int64_t rows = reference.rows.rows;
    at::Tensor& frame = frames[reference.key];
    if (!frame.defined()) {
      frame = at::zeros({std::max(pixels, rows), reference.rows.dimension},
                        at::TensorOptions(on).dtype(at::kFloat));
      frame.narrow(0, 0, rows).copy_(rows_of(reference.rows));
    }
    return frame.narrow(0, 0, rows);
  }

  std::int64_t match(const at::Tensor& query, const at::Tensor& map) {
    const at::Tensor products = keep(at::mm(query, map.t()));
    const at::Tensor column = keep(std::get<1>(at::max(products, 1)));
    const at::Tensor row = keep(std::get<1>(at::max(products, 0)));
    const at::Tensor back = keep(row.index_select(0, column));
    const at::Tensor self = keep(at::arange(query.size(0), back.options()));
    return back.eq(self).sum().item<std::int64_t>();
  }

  at::Device on;
  std::unordered_map<std::uint64_t, at::Tensor> frames;
  std::vector<at::Tensor> held;  // by the frame in hand
};

NaiveMatcher::NaiveMatcher(DeviceKind device)
    : state_(std::make_unique<State>(device == DeviceKind::cuda ? at::Device(at::kCUDA, 0)
                                                                : at::Device(at::kCPU))) {}
NaiveMatcher::~NaiveMatcher() = default;

std::int64_t NaiveMatcher::match(DescriptorView query, std::span<const PoolReference> references) {
  return with_torch_errors(0, [&] {
    State& state = *state_;
    const at::Tensor rows = state.keep(rows_of(query).to(state.on));
    const std::size_t own = state.held.size();
    std::int64_t pairs = 0;
    for (const PoolReference& reference : references) {
      pairs += state.match(rows, state.reference_rows(reference, query.rows));
      state.held.resize(own);
    }
    state.held.resize(own - 1);
    return pairs;
  });
}

}  // namespace skyfix::bench
