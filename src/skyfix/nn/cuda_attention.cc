#include "skyfix/nn/cuda_attention.h"

#include "skyfix/memory/cuda_library.h"

namespace skyfix::nn {

const CudaAttentionEntry* cuda_attention() {
  using Entry = const CudaAttentionEntry* (*)();
  static const auto entry =
      reinterpret_cast<Entry>(CudaLibrary::instance().symbol("skyfix_cuda_attention"));
  return entry == nullptr ? nullptr : entry();
}

}  // namespace skyfix::nn
