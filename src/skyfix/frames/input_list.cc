#include "skyfix/frames/input_list.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/image/image.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

void add_folder(const fs::path& folder, InputList& list) {
  std::error_code failure;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::follow_directory_symlink,
                                           failure);
  if (failure) {
    throw Error(Reason::unreadable_file, "cannot read the folder: " + failure.message(), folder);
  }
  // Folders seen, by what they really are: links may lead in circles.
  std::set<fs::path> seen{fs::weakly_canonical(folder)};
  for (const auto end = fs::recursive_directory_iterator(); entries != end;) {
    const fs::directory_entry entry = *entries;
    if (entry.is_directory(failure)) {
      const bool hidden = entry.path().filename().string().starts_with(".");
      if (hidden || !seen.insert(fs::weakly_canonical(entry.path())).second) {
        entries.disable_recursion_pending();
      }
    } else if (looks_like_image_name(entry.path())) {
      list.photos.push_back(
          {entry.path().lexically_relative(folder).generic_string(), entry.path()});
    } else {
      ++list.ignored_files;
    }
    entries.increment(failure);
    if (failure) {
      throw Error(Reason::unreadable_file, "cannot read a sub-folder: " + failure.message(),
                  folder);
    }
  }
}

// The path a list line names: the whole line if that exists, else its first column (hloc lists).
fs::path listed_path(const fs::path& folder, std::string_view line) {
  const fs::path whole = folder / fs::path(std::string(line));
  std::error_code ignored;
  if (fs::exists(whole, ignored)) return whole;
  return folder / fs::path(std::string(split_blanks(line).front()));
}

void add_list(const fs::path& file, InputList& list) {
  const std::string text = read_file(file);
  const fs::path folder = file.parent_path();
  std::set<std::string> seen;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = trim(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++line_number;
    if (line_number == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (line.empty() || line.front() == '#') continue;
    const fs::path path = listed_path(folder, line);
    const std::string where = "line " + std::to_string(line_number) + ": ";
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      throw Error(
          Reason::bad_list,
          where + "there is no file " + path.string() + "; paths are relative to the list's folder",
          file);
    }
    const std::string name =
        path.lexically_normal().lexically_relative(folder.lexically_normal()).generic_string();
    // A photo outside the list's folder goes by its base name, or, where that is taken, by its
    // path.
    const bool outside = name.empty() || name.starts_with("..");
    std::string unique = outside ? path.filename().string() : name;
    if (outside && seen.contains(unique)) {
      unique = fs::weakly_canonical(path).relative_path().generic_string();
    }
    if (!seen.insert(unique).second) {
      throw Error(Reason::bad_list, where + "the name " + unique + " stands in the list twice",
                  file);
    }
    list.photos.push_back({unique, path});
  }
}

}  // namespace

bool looks_like_list_name(const fs::path& file) {
  const std::string extension = to_lower(file.extension().string());
  return extension == ".txt" || extension == ".lst" || extension == ".list";
}

std::string photo_fingerprint(std::span<const InputPhoto> photos) {
  std::string text;
  for (const InputPhoto& photo : photos) {
    std::error_code failure;
    const auto size = fs::file_size(photo.path, failure);
    const auto time = fs::last_write_time(photo.path, failure).time_since_epoch().count();
    text += fmt::format("{}\n{}\n{}\n", photo.name, failure ? 0 : size, failure ? 0 : time);
  }
  return text;
}

InputList list_input(const fs::path& input) {
  InputList list;
  std::error_code failure;
  const fs::file_status status = fs::status(input, failure);
  if (!fs::exists(status)) {
    throw Error(Reason::unreadable_file, "there is no such file or folder", input);
  }
  if (fs::is_directory(status)) {
    add_folder(input, list);
  } else if (looks_like_list_name(input)) {
    add_list(input, list);
  } else {
    list.photos.push_back({input.filename().string(), input});
  }
  if (list.photos.empty()) {
    throw Error(Reason::no_input,
                "no images here (looked for .jpg .jpeg .png .tif .tiff; " +
                    std::to_string(list.ignored_files) + " other files were ignored)",
                input);
  }
  std::sort(list.photos.begin(), list.photos.end(),
            [](const InputPhoto& a, const InputPhoto& b) { return natural_less(a.name, b.name); });
  list.differs_from_text_order =
      !std::is_sorted(list.photos.begin(), list.photos.end(),
                      [](const InputPhoto& a, const InputPhoto& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < list.photos.size(); ++i) {
    list.photos[i].index = static_cast<std::int64_t>(i) + 1;
  }
  return list;
}

void select_range(InputList& list, std::int64_t first, std::int64_t last) {
  const auto count = static_cast<std::int64_t>(list.photos.size());
  const std::int64_t end = last == -1 ? count : std::min(last, count);
  if (first < 1 || (last != -1 && last < 1) || first > end) {
    throw Error(Reason::bad_option,
                "the range " + std::to_string(first) + " to " + std::to_string(last) +
                    " selects none of the " + std::to_string(count) +
                    " photos; frames count from 1, both ends are included, -1 is "
                    "the last");
  }
  list.photos.erase(list.photos.begin() + end, list.photos.end());
  list.photos.erase(list.photos.begin(), list.photos.begin() + (first - 1));
}

}  // namespace skyfix
