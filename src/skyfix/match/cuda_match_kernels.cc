#include "skyfix/match/cuda_match_kernels.h"

#include "skyfix/base/error.h"

namespace skyfix {

std::unique_ptr<MatchKernels> make_cuda_match_kernels(const CudaContextFacts& facts) {
  using Entry = const CudaMatchEntry* (*)();
  const CudaLibrary& library = CudaLibrary::instance();
  const auto entry = reinterpret_cast<Entry>(library.symbol("skyfix_cuda_match"));
  if (entry == nullptr) {
    throw Error(Reason::no_gpu,
                "no GPU can be used: " +
                    (library.loaded() ? library.path().string() + " is of another version of Skyfix"
                                      : library.why_not()));
  }
  return entry()->make(facts);
}

}  // namespace skyfix
