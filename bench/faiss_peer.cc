#include "bench/faiss_peer.h"

#include <dlfcn.h>

namespace skyfix::bench {
namespace fs = std::filesystem;

FaissPeerLibrary open_faiss_peer(const fs::path& file) {
  // LibTorch brings an sgemm_ of its own: the library must find its own OpenBLAS first.
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) {
    const char* text = ::dlerror();
    return {nullptr, text == nullptr ? "unknown error of dlopen" : text};
  }
  using Entry = const FaissPeer* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "skyfix_faiss_peer"));
  if (entry == nullptr) return {nullptr, file.string() + " is of another version of Skyfix"};
  return {entry(), ""};
}

const FaissPeerLibrary& faiss_peer() {
  static const FaissPeerLibrary library = [] {
    std::error_code failure;
    const fs::path program = fs::read_symlink("/proc/self/exe", failure);
    return open_faiss_peer(program.parent_path().parent_path() / "lib" / "libskyfix_faiss_peer.so");
  }();
  return library;
}

}  // namespace skyfix::bench
