#include "skyfix/stream/checkpoints.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>

namespace skyfix {
namespace fs = std::filesystem;

std::vector<StreamCheckpoint> checkpoints_in(const fs::path& folder) {
  std::vector<StreamCheckpoint> found;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    long long read = 0, given = 0;
    int length = 0;
    const std::string name = entry.path().filename().string();
    const int fields =
        std::sscanf(name.c_str(), "read-%lld-given-%lld.ckpt%n", &read, &given, &length);
    if (fields != 2 || length != static_cast<int>(name.size()) || read < 0 || given < 0) continue;
    found.push_back({entry.path(), read, given});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.read > b.read; });
  return found;
}

std::vector<StreamCheckpoint> usable_checkpoints(const fs::path& folder, std::int64_t recorded) {
  std::vector<StreamCheckpoint> all = checkpoints_in(folder);
  std::erase_if(all, [&](const StreamCheckpoint& each) { return each.given > recorded; });
  return all;
}

fs::path checkpoint_file(const fs::path& folder, std::int64_t read, std::int64_t given) {
  return folder / fmt::format("read-{:06d}-given-{:06d}.ckpt", read, given);
}

void keep_newest(const fs::path& folder, std::size_t count) {
  const auto all = checkpoints_in(folder);
  for (std::size_t i = count; i < all.size(); ++i) {
    std::error_code failure;
    fs::remove(all[i].file, failure);
  }
}

}  // namespace skyfix
