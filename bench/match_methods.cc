#include "bench/match_methods.h"

#include <faiss/Index.h>
#include <faiss/utils/distances.h>
#include <omp.h>

#include <algorithm>
#include <limits>

#include "skyfix/base/parallel.h"

extern "C" {
// OpenBLAS's own header comes with several packages under several paths; this is all we use of it.
char* openblas_get_config();
char* openblas_get_corename();
void openblas_set_num_threads(int);
void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc);
}

namespace skyfix::bench {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

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

// The search functions beneath IndexFlatIP, spared the index's copy of its rows.
NearestNeighbours run_faiss(DescriptorView query, DescriptorView map) {
  NearestNeighbours result = sized_result(query, map);
  faiss::knn_inner_product(query.data, map.data, query.dimension, query.rows, map.rows, 1,
                           result.score_query.data(), result.nn_query.data());
  faiss::knn_inner_product(map.data, query.data, query.dimension, map.rows, query.rows, 1,
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
  const int m = static_cast<int>(map.rows);
  const float one = 1, zero = 0;
  for (std::int64_t first = 0; first < query.rows; first += kBlockRows) {
    const int rows = static_cast<int>(std::min(kBlockRows, query.rows - first));
    sgemm_("T", "N", &m, &rows, &query.dimension, &one, map.data, &query.dimension,
           query.row(first), &query.dimension, &zero, products.data(), &m);
    reduce_block(products.data(), first, rows, map.rows, result);
  }
  return result;
}

}  // namespace

std::vector<MatchMethod> match_methods() {
  return {{"skyfix", run_skyfix}, {"faiss", run_faiss}, {"blas_blocks", run_blas_blocks}};
}

void set_all_thread_counts(std::size_t threads) {
  set_thread_count(threads);
  omp_set_num_threads(static_cast<int>(thread_count()));
  openblas_set_num_threads(static_cast<int>(thread_count()));
}

std::string peer_versions() {
  return "FAISS " + std::to_string(FAISS_VERSION_MAJOR) + "." +
         std::to_string(FAISS_VERSION_MINOR) + "." + std::to_string(FAISS_VERSION_PATCH) + "; " +
         openblas_get_config() + "; running its kernels for " + openblas_get_corename();
}

bool peer_is_handicapped() {
  return std::string_view(openblas_get_corename()) == "Prescott" && best_simd() != Simd::scalar;
}

}  // namespace skyfix::bench
