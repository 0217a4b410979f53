#include "skyfix/map/colmap_model.h"

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/map/colmap_records.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

struct FoundModel {
  fs::path folder;
  std::size_t images = 0;
};

// Folders directly inside `folder`, in natural order.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> inside;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) inside.push_back(at->path());
  }
  std::sort(inside.begin(), inside.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  return inside;
}

// The model with most images; the first of equals.
std::optional<FoundModel> largest(const std::vector<fs::path>& folders) {
  std::optional<FoundModel> best;
  for (const fs::path& folder : folders) {
    const auto format = colmap_io::format_in(folder);
    if (!format) continue;
    const std::size_t images = *format == ColmapFormat::binary
                                   ? colmap_io::count_images_binary(folder)
                                   : colmap_io::count_images_text(folder);
    if (!best || images > best->images) best = FoundModel{folder, images};
  }
  return best;
}

constexpr const char* kWanted =
    "cameras, images and points3D as .bin or .txt in the folder itself, in its folders, in sparse/ "
    "and in the folders of sparse/";

}  // namespace

fs::path find_colmap_model(const fs::path& path) {
  if (!fs::is_directory(path)) {
    throw Error(Reason::bad_model, "there is no such folder; give the folder of a COLMAP model",
                path);
  }
  if (colmap_io::format_in(path)) return path;
  std::vector<fs::path> folders = folders_in(path);
  for (fs::path& folder : folders_in(path / "sparse")) folders.push_back(std::move(folder));
  if (const auto found = largest(folders)) return found->folder;
  throw Error(Reason::bad_model, std::string("no COLMAP model found; looked for ") + kWanted, path);
}

ColmapModel read_colmap(const fs::path& folder) {
  const auto format = colmap_io::format_in(folder);
  if (!format) {
    throw Error(
        Reason::bad_model,
        "this folder holds no complete COLMAP model: cameras, images and points3D are needed, "
        "all as .bin or all as .txt",
        folder);
  }
  ColmapModel model = *format == ColmapFormat::binary ? colmap_io::read_binary(folder)
                                                      : colmap_io::read_text(folder);
  colmap_io::apply_frames(model, folder, *format);
  return model;
}

}  // namespace skyfix
