#include "bench/torch_peers.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mm.h>
#include <torch/headeronly/version.h>

#include "skyfix/memory/torch_errors.h"

namespace skyfix::bench {
namespace {

at::Device place_of(DeviceKind device) {
  return device == DeviceKind::cuda ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
}

// Somebody else's memory as a tensor.
at::Tensor tensor_of(const void* data, at::IntArrayRef shape, at::ScalarType type, at::Device on) {
  return at::for_blob(const_cast<void*>(data), shape)
      .options(at::TensorOptions(on).dtype(type))
      .target_device(on)
      .make_tensor();
}

struct Tensors {
  Tensors(const MatchArrays& arrays, at::Device on)
      : query(tensor_of(arrays.query, {arrays.n, arrays.dimension}, at::kFloat, on)),
        map(tensor_of(arrays.map, {arrays.m, arrays.dimension}, at::kFloat, on).t()),
        nn_query(tensor_of(arrays.nn_query, {arrays.n}, at::kLong, on)),
        score_query(tensor_of(arrays.score_query, {arrays.n}, at::kFloat, on)),
        nn_map(tensor_of(arrays.nn_map, {arrays.m}, at::kLong, on)),
        score_map(tensor_of(arrays.score_map, {arrays.m}, at::kFloat, on)) {}

  at::Tensor query;
  at::Tensor map;  // transposed
  at::Tensor nn_query, score_query, nn_map, score_map;
};

void chunked(Tensors& t, std::int64_t chunk_rows) {
  const std::int64_t n = t.query.size(0);
  const std::int64_t m = t.map.size(1);
  const std::int64_t chunks = (n + chunk_rows - 1) / chunk_rows;
  at::Tensor products = at::empty({std::min(chunk_rows, n), m}, t.query.options());
  // Each chunk's column maxima, for one reduction at the end: the fewest launches.
  const at::Tensor scores = at::empty({chunks, m}, t.query.options());
  const at::Tensor rows = at::empty({chunks, m}, t.nn_query.options());
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t first = chunk * chunk_rows;
    const std::int64_t size = std::min(chunk_rows, n - first);
    at::Tensor part = products.narrow(0, 0, size);
    at::mm_out(part, t.query.narrow(0, first, size), t.map);
    at::Tensor score = t.score_query.narrow(0, first, size);
    at::Tensor column = t.nn_query.narrow(0, first, size);
    at::max_out(score, column, part, 1);
    at::Tensor column_score = scores.select(0, chunk);
    at::Tensor row = rows.select(0, chunk);
    at::max_out(column_score, row, part, 0);
    row.add_(first);
  }
  const auto [best, in_chunk] = at::max(scores, 0, true);
  t.score_map.copy_(best.squeeze(0));
  t.nn_map.copy_(rows.gather(0, in_chunk).squeeze(0));
}

}  // namespace

void set_up_torch(DeviceKind device, int threads) {
  with_torch_errors(0, [&] {
    at::globalContext().setAllowTF32CuBLAS(false);
    at::set_num_threads(threads);
    if (device == DeviceKind::cuda) at::globalContext().lazyInitDevice(at::kCUDA);
  });
}

std::string torch_version() { return TORCH_VERSION; }

void match_by_full_matrix(const MatchArrays& arrays, DeviceKind device) {
  with_torch_errors(full_matrix_bytes(arrays.n, arrays.m), [&] {
    Tensors t(arrays, place_of(device));
    const at::Tensor products = at::mm(t.query, t.map);
    at::max_out(t.score_query, t.nn_query, products, 1);
    at::max_out(t.score_map, t.nn_map, products, 0);
  });
}

void match_by_chunks(const MatchArrays& arrays, DeviceKind device, std::int64_t chunk_rows) {
  with_torch_errors(full_matrix_bytes(std::min(chunk_rows, arrays.n), arrays.m), [&] {
    Tensors t(arrays, place_of(device));
    chunked(t, chunk_rows);
  });
}

}  // namespace skyfix::bench
