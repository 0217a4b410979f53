#include "skyfix/nn/cuda_nn.h"

#include "skyfix/memory/cuda_library.h"

namespace skyfix::nn {

const CudaNnEntry* cuda_nn() {
  using Entry = const CudaNnEntry* (*)();
  static const auto entry =
      reinterpret_cast<Entry>(CudaLibrary::instance().symbol("skyfix_cuda_nn"));
  return entry == nullptr ? nullptr : entry();
}

}  // namespace skyfix::nn
