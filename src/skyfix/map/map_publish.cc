#include "skyfix/map/map_publish.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/map/map_manifest.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

// The paths of the map's own files, or nothing when the folder is no map that can be read so far.
// Of another version, too: what it names are its files.
std::optional<std::vector<fs::path>> files_of_map(const fs::path& folder) {
  try {
    const auto json = nlohmann::json::parse(read_file(folder / map_manifest::kFileName));
    if (json.at("format").get<std::string>() != map_manifest::kFormat) return std::nullopt;
    std::vector<fs::path> files{map_manifest::kFileName};
    for (const auto& [path, table] : json.at("tables").items()) files.emplace_back(path);
    return files;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// The first file below `folder` that is not among `own`.
std::optional<fs::path> foreign_file(const fs::path& folder, const std::vector<fs::path>& own) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) continue;
    const fs::path inside = entry.path().lexically_relative(folder);
    if (std::find(own.begin(), own.end(), inside) == own.end()) return inside;
  }
  return std::nullopt;
}

void require_replaceable(const fs::path& folder, bool overwrite) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Reason::unwritable_output, what, folder);
  };
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder)) refuse("a file is in the way; choose another folder for the map");
  if (fs::is_empty(folder)) return;
  const auto own = files_of_map(folder);
  if (!own) refuse("the folder holds other files than a map; choose another one, or empty it");
  if (!overwrite) refuse("a map is there already; choose another folder, or overwrite it");
  if (const auto foreign = foreign_file(folder, *own)) {
    refuse("the map's folder also holds " + foreign->string() +
           ", which is not the map's. Move it elsewhere, or choose another folder");
  }
}

// "maps/a/" and "maps/a/." name the same folder as "maps/a".
fs::path without_slash(const fs::path& folder) {
  fs::path plain = fs::absolute(folder).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

}  // namespace

PartialMapFolder::PartialMapFolder(const fs::path& folder, bool overwrite)
    : folder_(without_slash(folder)) {
  require_replaceable(folder_, overwrite);
  static std::atomic<unsigned> counter{0};
  const std::string mark = std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
  partial_ = folder_.string() + ".partial-" + mark;
  replaced_ = folder_.string() + ".replaced-" + mark;
  std::error_code ignored;
  fs::remove_all(partial_, ignored);  // of a process that had this number and was killed
  make_folder(partial_);
}

PartialMapFolder::~PartialMapFolder() {
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
}

void PartialMapFolder::publish() {
  std::error_code failure;
  const bool replaces = fs::exists(folder_);
  if (replaces) fs::rename(folder_, replaced_, failure);
  if (!failure) fs::rename(partial_, folder_, failure);
  if (failure) {
    std::error_code ignored;
    if (replaces && !fs::exists(folder_)) fs::rename(replaced_, folder_, ignored);
    throw Error(Reason::unwritable_output, "cannot put the map in its place: " + failure.message(),
                folder_);
  }
  if (replaces) fs::remove_all(replaced_, failure);
}

}  // namespace skyfix
