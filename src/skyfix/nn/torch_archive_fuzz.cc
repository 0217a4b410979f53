// Any bytes as a PyTorch file or a wheel: refused, or every tensor can be read. The first byte
// chooses what is fuzzed: the whole zip archive, the pickle of a sound one, or changes to a sound
// wheel.
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

std::string sound_torch_file(bool deflate) {
  skyfix::testing::PickleWriter pickle;
  pickle.add("}(").text("a").tensor("FloatStorage", "0", 16, {2, 4}, {1, 2});
  pickle.text("b").tensor("FloatStorage", "0", 16, {16}).add("u");
  return skyfix::testing::make_torch_file(pickle.stop(), {{"0", std::string(64, '\1')}}, deflate);
}

// Each three bytes of `changes` are an offset and the byte that is put there.
std::string changed(std::string file, std::string_view changes) {
  for (std::size_t i = 0; i + 2 < changes.size(); i += 3) {
    std::uint16_t offset;
    std::memcpy(&offset, changes.data() + i, sizeof offset);
    file[offset % file.size()] = changes[i + 2];
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace skyfix::testing;
  if (size == 0) return 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool flag = data[0] & 4;
  switch (data[0] % 4) {
    case 0:
      read(content, flag ? "a" : "");
      break;
    case 1:
      read(make_torch_file(content, {{"0", std::string(64, '\1')}, {"1", ""}}, flag), {});
      break;
    case 2:
      read(changed(sound_torch_file(flag), content), {});
      break;
    default:
      read(changed(make_zip({{"w.pt", sound_torch_file(false), true}}, flag), content), {});
  }
  return 0;
}
