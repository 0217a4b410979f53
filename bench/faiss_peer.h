// FAISS and OpenBLAS, for comparison only: a shared library of their own, libskyfix_faiss_peer.so,
// opened at run time, so that the benchmarks start where neither is installed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace skyfix::bench {

// What the library exports as skyfix_faiss_peer(). All matrices are row-major float32.
struct FaissPeer {
  // The best inner product of each query row and its map row.
  void (*best_products)(const float* query, std::int64_t n, const float* map, std::int64_t m,
                        int dimension, float* score, std::int64_t* index);
  // products = query map^T by sgemm; n x m.
  void (*product_matrix)(const float* query, int n, const float* map, int m, int dimension,
                         float* products);
  void (*set_threads)(int threads);  // OpenMP's and OpenBLAS's
  const char* (*versions)();         // "FAISS 1.7.3; OpenBLAS 0.3.21 ..."
  const char* (*blas_core)();        // the processor that OpenBLAS runs its kernels for
};

struct FaissPeerLibrary {
  const FaissPeer* peer = nullptr;
  std::string why_not;  // where it could not be opened
};

FaissPeerLibrary open_faiss_peer(const std::filesystem::path& file);
// ../lib/libskyfix_faiss_peer.so beside the program; opened at the first call.
const FaissPeerLibrary& faiss_peer();

}  // namespace skyfix::bench
