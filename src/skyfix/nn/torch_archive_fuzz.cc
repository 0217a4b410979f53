// Any bytes as a PyTorch file or a wheel: refused, or every tensor can be read. The first byte
// chooses what is fuzzed: the whole zip archive, or the pickle of a sound one.
#include <cstdlib>

#include "skyfix/base/error.h"
#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/testing_archive.h"

namespace {

void read(std::string_view file, const std::string& member) {
  using namespace skyfix;
  TensorFileLimits limits;
  limits.inflated_bytes = 1 << 20;
  limits.pickle_bytes = 1 << 18;
  limits.tensors = 1000;
  try {
    const auto source = open_tensor_bytes(testing::as_bytes(file), "fuzz", member, limits);
    for (const std::string& name : source->names()) {
      const StoredTensor& tensor = *source->find(name);
      if (std::uint64_t(tensor.elements() * element_bytes(tensor.type)) != tensor.bytes.size()) {
        std::abort();
      }
      volatile unsigned sum = 0;
      for (const std::byte value :
           tensor.bytes.first(std::min<std::size_t>(tensor.bytes.size(), 64)))
        sum = sum + std::to_integer<unsigned>(value);
      if (!tensor.bytes.empty()) sum = sum + std::to_integer<unsigned>(tensor.bytes.back());
    }
  } catch (const Error& error) {
    if (error.reason() != Reason::bad_weights) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) {
    read(skyfix::testing::make_torch_file(content, {{"0", std::string(64, '\1')}, {"1", ""}},
                                          data[0] & 2),
         {});
  } else {
    read(content, data[0] & 2 ? "a" : "");
  }
  return 0;
}
