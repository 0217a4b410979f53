#include "skyfix/match/chunked_torch.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "skyfix/base/error.h"
#include "skyfix/memory/cuda_library.h"
#include "skyfix/memory/torch_errors.h"

namespace skyfix {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// Rows on the device, those with a NaN or infinite entry zeroed and marked.
struct Rows {
  Rows(DescriptorView view, at::Device on) {
    values = at::from_blob(const_cast<float*>(view.data), {view.rows, view.dimension}, at::kFloat)
                 .to(on);
    unusable = at::logical_not(at::isfinite(values).all(1));
    values = values.masked_fill(unusable.unsqueeze(1), 0);
  }
  at::Tensor values;
  at::Tensor unusable;  // [rows]
};

struct Best {
  at::Tensor score;
  at::Tensor index;  // int32; -1 = none
};

// Along `dim` of a matrix without NaN. at::max leaves it open which of several equal ones it names.
Best lowest_best(const at::Tensor& scores, std::int64_t dim) {
  const std::int64_t count = scores.size(dim);
  const at::TensorOptions integers = scores.options().dtype(at::kInt);
  const at::Tensor positions = at::arange(count, integers).unsqueeze(1 - dim);
  const at::Tensor score = at::amax(scores, dim, true);
  const at::Tensor winners =
      at::where(at::eq(scores, score), positions, at::scalar_tensor(count, integers));
  const at::Tensor none = at::eq(score, kNone).squeeze(dim);
  return {score.squeeze(dim), at::amin(winners, dim).masked_fill(none, -1)};
}

class Matcher {
 public:
  Matcher(DescriptorView query, DescriptorView map, at::Device on)
      : query_(query, on),
        map_(map, on),
        columns_{at::full({map.rows}, kNone, query_.values.options()),
                 at::full({map.rows}, -1, query_.values.options().dtype(at::kInt))} {}

  // Of query rows [first, first + rows): their neighbours; the columns' best so far is updated.
  Best match(std::int64_t first, std::int64_t rows) {
    at::Tensor scores = at::mm(query_.values.narrow(0, first, rows), map_.values.t());
    scores.masked_fill_(query_.unusable.narrow(0, first, rows).unsqueeze(1), kNone);
    scores.masked_fill_(map_.unusable.unsqueeze(0), kNone);
    // Products that overflow to NaN are nobody's best.
    scores.nan_to_num_(kNone, std::numeric_limits<double>::infinity(), kNone);
    const Best found = lowest_best(scores, 0);
    const at::Tensor better = at::gt(found.score, columns_.score);
    columns_.score = at::where(better, found.score, columns_.score);
    columns_.index = at::where(better, found.index.add(first), columns_.index);
    return lowest_best(scores, 1);
  }

  const Best& columns() const { return columns_; }

 private:
  Rows query_;
  Rows map_;
  Best columns_;
};

// Copies to places on the host.
void fetch(const Best& best, std::int64_t* index, float* score) {
  const std::int64_t count = best.score.size(0);
  at::from_blob(index, {count}, at::kLong).copy_(best.index);
  at::from_blob(score, {count}, at::kFloat).copy_(best.score);
}

at::Device place_of(DeviceKind device) {
  if (device == DeviceKind::cpu) return at::Device(at::kCPU);
  const std::string problem = why_no_gpu();
  if (!problem.empty()) throw Error(Reason::no_gpu, "no GPU can be used: " + problem);
  at::globalContext().lazyInitDevice(at::kCUDA);
  return at::Device(at::kCUDA, 0);
}

}  // namespace

NearestNeighbours nearest_neighbours_torch(DescriptorView query, DescriptorView map,
                                           const TorchMatchOptions& options) {
  assert(query.rows == 0 || map.rows == 0 || query.dimension == map.dimension);
  NearestNeighbours result;
  result.nn_query.assign(query.rows, -1);
  result.nn_map.assign(map.rows, -1);
  result.score_query.assign(query.rows, -std::numeric_limits<float>::infinity());
  result.score_map.assign(map.rows, -std::numeric_limits<float>::infinity());
  if (query.rows == 0 || map.rows == 0) return result;
  const std::int64_t chunk = options.chunk_rows > 0 ? options.chunk_rows : query.rows;
  with_torch_errors(0, [&] {
    const at::NoTF32Guard full_precision;
    Matcher matcher(query, map, place_of(options.device));
    for (std::int64_t first = 0; first < query.rows; first += chunk) {
      const Best rows = matcher.match(first, std::min(chunk, query.rows - first));
      fetch(rows, &result.nn_query[first], &result.score_query[first]);
    }
    fetch(matcher.columns(), result.nn_map.data(), result.score_map.data());
  });
  return result;
}

}  // namespace skyfix
