#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <optional>
#include <system_error>

#include "skyfix/base/error.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/log.h"
#include "skyfix/base/npy.h"
#include "skyfix/retrieval/global_descriptor.h"

namespace fs = std::filesystem;

namespace skyfix {
namespace {

constexpr std::size_t kDigits = 12;
// File systems allow names of 255 bytes; the rest is for the digits and the writer's suffix.
constexpr std::size_t kLongestStem = 150;

// What tells a photo from another one, and from what once had its name. nullopt when it is gone.
std::optional<std::string> photo_identity(const fs::path& photo) {
  struct stat status {};
  if (::stat(photo.c_str(), &status) != 0) return std::nullopt;
  std::error_code failure;
  const fs::path absolute = fs::absolute(photo, failure);
  if (failure) return std::nullopt;
  const long long mtime_ns = status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
  return absolute.lexically_normal().string() + "\n" +
         std::to_string(static_cast<long long>(status.st_size)) + "\n" + std::to_string(mtime_ns);
}

// At most kLongestStem bytes, not cutting a UTF-8 character.
std::string short_stem(const fs::path& photo) {
  std::string stem = photo.stem().string();
  if (stem.size() <= kLongestStem) return stem;
  std::size_t end = kLongestStem;
  while (end > 0 && (static_cast<unsigned char>(stem[end]) & 0xC0) == 0x80) --end;
  stem.resize(end);
  return stem;
}

}  // namespace

std::string_view cache_outcome_name(DescriptorCache::Outcome outcome) {
  switch (outcome) {
    case DescriptorCache::Outcome::off:
      return "off";
    case DescriptorCache::Outcome::hit:
      return "hit";
    case DescriptorCache::Outcome::miss:
      return "miss";
    case DescriptorCache::Outcome::corrupt:
      return "corrupt";
  }
  assert(false);
  return {};
}

DescriptorCache::DescriptorCache(fs::path folder, std::string_view kind,
                                 std::string_view vocabulary_hash)
    : warned_(std::make_shared<std::atomic<bool>>(false)) {
  if (folder.empty()) return;
  folder_ = std::move(folder);
  folder_ /= std::string(kind) + "-" + std::string(vocabulary_hash.substr(0, kDigits));
}

fs::path DescriptorCache::entry(const fs::path& photo, int resize) const {
  if (folder_.empty()) return {};
  const auto identity = photo_identity(photo);
  if (!identity) return {};
  return folder_ / (short_stem(photo) + "_r" + std::to_string(resize) + "_" +
                    sha1_hex(*identity).substr(0, kDigits) + ".npy");
}

DescriptorCache::Lookup DescriptorCache::find(const fs::path& photo, int resize,
                                              int dimension) const {
  if (folder_.empty()) return {Outcome::off, {}};
  const fs::path file = entry(photo, resize);
  std::error_code ignored;
  if (file.empty() || !fs::exists(file, ignored)) return {Outcome::miss, {}};
  try {
    const NpyFile array(file);
    const auto values = array.as<float>();
    const bool fits = array.shape() == std::vector<std::size_t>{std::size_t(dimension)};
    if (!fits ||
        !std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      return {Outcome::corrupt, {}};
    return {Outcome::hit, {values.begin(), values.end()}};
  } catch (const Error& error) {
    log::debug("cache entry not used: {}", error.what());
    return {Outcome::corrupt, {}};
  }
}

void DescriptorCache::store(const fs::path& photo, int resize,
                            std::span<const float> descriptor) const {
  const fs::path file = entry(photo, resize);
  if (file.empty()) return;
  try {
    write_npy<float>(file, descriptor, std::array{descriptor.size()});
  } catch (const std::exception& error) {
    if (!warned_->exchange(true)) {
      log::warn("the descriptor cache cannot be written, so the next run computes again: {}",
                error.what());
    }
  }
}

}  // namespace skyfix
