// libskyfix_faiss_peer.so.
#include <faiss/Index.h>
#include <faiss/utils/distances.h>
#include <omp.h>

#include "bench/faiss_peer.h"

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

// The search function beneath IndexFlatIP, spared the index's copy of its rows.
void best_products(const float* query, std::int64_t n, const float* map, std::int64_t m,
                   int dimension, float* score, std::int64_t* index) {
  faiss::knn_inner_product(query, map, dimension, n, m, 1, score, index);
}

void product_matrix(const float* query, int n, const float* map, int m, int dimension,
                    float* products) {
  const float one = 1, zero = 0;
  sgemm_("T", "N", &m, &n, &dimension, &one, map, &dimension, query, &dimension, &zero, products,
         &m);
}

void set_threads(int threads) {
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
}

const char* versions() {
  static const std::string text =
      "FAISS " + std::to_string(FAISS_VERSION_MAJOR) + "." + std::to_string(FAISS_VERSION_MINOR) +
      "." + std::to_string(FAISS_VERSION_PATCH) + "; " + openblas_get_config();
  return text.c_str();
}

const char* blas_core() { return openblas_get_corename(); }

constexpr FaissPeer kPeer{best_products, product_matrix, set_threads, versions, blas_core};

}  // namespace
}  // namespace skyfix::bench

extern "C" __attribute__((visibility("default"))) const skyfix::bench::FaissPeer*
skyfix_faiss_peer() {
  return &skyfix::bench::kPeer;
}
