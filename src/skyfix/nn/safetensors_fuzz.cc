// Any bytes as safetensors: refused, or every tensor lies in the file and can be read.
#include <cstdlib>

#include "skyfix/base/error.h"
#include "skyfix/nn/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace skyfix;
  TensorFileLimits limits;
  limits.tensors = 1000;
  try {
    const TensorTable table =
        read_safetensors(std::as_bytes(std::span(data, size)), "fuzz", limits);
    std::size_t total = 0;
    for (const auto& [name, tensor] : table.tensors) {
      if (std::uint64_t(tensor.elements() * element_bytes(tensor.type)) != tensor.bytes.size()) {
        std::abort();
      }
      total += tensor.bytes.size();
      // Every byte is there to be read.
      volatile unsigned sum = 0;
      for (const std::byte value : tensor.bytes) sum = sum + std::to_integer<unsigned>(value);
    }
    if (total > size) std::abort();
  } catch (const Error& error) {
    if (error.reason() != Reason::bad_weights) std::abort();
  }
  return 0;
}
