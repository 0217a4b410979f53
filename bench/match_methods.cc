#include "bench/match_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/faiss_peer.h"
#include "bench/torch_peers.h"
#include "skyfix/base/byte_size.h"
#include "skyfix/base/parallel.h"

namespace skyfix::bench {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kLargestHostMatrix = std::int64_t{4} << 30;  // bytes

NearestNeighbours run_skyfix(DescriptorView query, DescriptorView map) {
  return nearest_neighbours(query, map);
}

NearestNeighbours sized_result(DescriptorView query, DescriptorView map) {
  NearestNeighbours result;
  result.nn_query.assign(query.rows, -1);
  result.nn_map.assign(map.rows, -1);
  result.score_query.assign(query.rows, kNone);
  result.score_map.assign(map.rows, kNone);
  return result;
}

MatchArrays arrays_of(DescriptorView query, DescriptorView map, NearestNeighbours& result) {
  return {query.data,
          map.data,
          query.rows,
          map.rows,
          query.dimension,
          result.nn_query.data(),
          result.score_query.data(),
          result.nn_map.data(),
          result.score_map.data()};
}

NearestNeighbours run_torch_full(DescriptorView query, DescriptorView map) {
  NearestNeighbours result = sized_result(query, map);
  match_by_full_matrix(arrays_of(query, map, result), DeviceKind::cpu);
  return result;
}

NearestNeighbours run_torch_chunks(DescriptorView query, DescriptorView map) {
  NearestNeighbours result = sized_result(query, map);
  match_by_chunks(arrays_of(query, map, result), DeviceKind::cpu, kTorchChunkRows);
  return result;
}

NearestNeighbours run_faiss(DescriptorView query, DescriptorView map) {
  NearestNeighbours result = sized_result(query, map);
  const FaissPeer& peer = *faiss_peer().peer;
  peer.best_products(query.data, query.rows, map.data, map.rows, query.dimension,
                     result.score_query.data(), result.nn_query.data());
  peer.best_products(map.data, map.rows, query.data, query.rows, query.dimension,
                     result.score_map.data(), result.nn_map.data());
  return result;
}

// One product block (rows x m) read for both directions.
void reduce_block(const float* products, std::int64_t first, std::int64_t rows, std::int64_t m,
                  NearestNeighbours& result) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = products + i * m;
    for (std::int64_t j = 0; j < m; ++j) {
      if (row[j] > result.score_query[first + i]) {
        result.score_query[first + i] = row[j];
        result.nn_query[first + i] = j;
      }
      if (row[j] > result.score_map[j]) {
        result.score_map[j] = row[j];
        result.nn_map[j] = first + i;
      }
    }
  }
}

// What one would write first: a block of the product matrix by sgemm, then its maxima.
NearestNeighbours run_blas_blocks(DescriptorView query, DescriptorView map) {
  constexpr std::int64_t kBlockRows = 1024;
  NearestNeighbours result = sized_result(query, map);
  std::vector<float> products(kBlockRows * map.rows);
  for (std::int64_t first = 0; first < query.rows; first += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, query.rows - first);
    faiss_peer().peer->product_matrix(query.row(first), static_cast<int>(rows), map.data,
                                      static_cast<int>(map.rows), query.dimension, products.data());
    reduce_block(products.data(), first, rows, map.rows, result);
  }
  return result;
}

std::string peer_why_not() {
  return faiss_peer().peer != nullptr ? "" : "not available: " + faiss_peer().why_not;
}

}  // namespace

MatchMethod faiss_method() { return {"faiss", run_faiss, peer_why_not()}; }

std::vector<MatchMethod> match_methods(const MatchShape& shape) {
  const std::int64_t matrix = full_matrix_bytes(shape.n, shape.m);
  const std::string too_large =
      matrix <= kLargestHostMatrix
          ? ""
          : fmt::format("skipped: the matrix takes {}, more than {}", format_byte_size(matrix),
                        format_byte_size(kLargestHostMatrix));
  return {{"skyfix", run_skyfix, ""},
          {"torch_full", run_torch_full, too_large},
          {"torch_chunks", run_torch_chunks, ""},
          faiss_method(),
          {"blas_blocks", run_blas_blocks, peer_why_not()}};
}

void set_all_thread_counts(std::size_t threads) {
  set_thread_count(threads);
  const int count = static_cast<int>(thread_count());
  set_up_torch(DeviceKind::cpu, count);
  if (faiss_peer().peer != nullptr) faiss_peer().peer->set_threads(count);
}

std::string peer_versions() {
  const FaissPeerLibrary& library = faiss_peer();
  const std::string torch = "LibTorch " + torch_version() + "; ";
  if (library.peer == nullptr) return torch + "FAISS not available: " + library.why_not;
  return torch + library.peer->versions() + "; running its kernels for " +
         library.peer->blas_core();
}

bool peer_is_handicapped() {
  const FaissPeer* peer = faiss_peer().peer;
  return peer != nullptr && std::string_view(peer->blas_core()) == "Prescott" &&
         best_simd() != Simd::scalar;
}

}  // namespace skyfix::bench
