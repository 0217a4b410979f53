#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/map/colmap_writers.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

// A name that the format cannot hold would come back changed.
void require_writable_name(const std::string& name, ColmapFormat format, const fs::path& folder) {
  const bool text = format == ColmapFormat::text;
  const bool bad = name.empty() || name.find('\0') != std::string::npos ||
                   (text && (name.find('\n') != std::string::npos || trim(name) != name));
  if (!bad) return;
  throw Error(Reason::unwritable_output,
              "the image name '" + name +
                  "' is empty, has line breaks or zeros in it, or blanks at an " +
                  "end: this format cannot hold it" + (text ? ". Write a binary model" : ""),
              folder);
}

}  // namespace

void write_colmap(const ColmapModel& model, const fs::path& folder, ColmapFormat format) {
  make_folder(folder);
  if (format == ColmapFormat::text && colmap_io::format_in(folder) == ColmapFormat::binary) {
    throw Error(Reason::unwritable_output,
                "the folder holds a binary model, which readers would prefer to the text written "
                "here. Choose another folder",
                folder);
  }
  for (const ColmapImage& image : model.images) require_writable_name(image.name, format, folder);
  const bool with_rigs = !model.rigs.empty() || !model.frames.empty();
  const auto contents =
      format == ColmapFormat::binary ? colmap_io::binary_contents() : colmap_io::text_contents();
  for (const auto& [stem, content] : contents) {
    const fs::path file = colmap_io::model_file(folder, stem, format);
    const bool of_rigs = std::string_view(stem) == "rigs" || std::string_view(stem) == "frames";
    if (of_rigs && !with_rigs) {
      // Those of an older model would be read with this one.
      std::error_code ignored;
      fs::remove(file, ignored);
    } else {
      write_file_atomic(file, content(model));
    }
  }
}

}  // namespace skyfix
