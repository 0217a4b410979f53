#include "skyfix/models/import_weights.h"

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/models/recognise.h"
#include "skyfix/models/weights.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix {
namespace fs = std::filesystem;
namespace {

std::string joined(const std::vector<std::string>& names, const std::string& between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

// Among models that differ in values only: the one of that digest.
std::string told_apart(const std::vector<std::string>& candidates, const std::string& published,
                       const fs::path& file) {
  if (candidates.size() == 1) return candidates.front();
  if (!published.empty()) return published;
  throw Error(Reason::bad_weights,
              "the tensors are those of " + joined(candidates, " or ") + ": say which by --model",
              file);
}

std::string model_of(const TensorSource& source, const std::string& given, const fs::path& file) {
  const std::vector<std::string> candidates = models_with_tensors(source);
  if (candidates.empty()) {
    throw Error(Reason::bad_weights,
                "the tensors are of no model that is known; `skyfix models list` names them", file);
  }
  const std::string published = model_with_digest(weights_identity(source));
  if (given.empty()) return told_apart(candidates, published, file);
  if (!published.empty() && published != given) {
    throw Error(Reason::bad_weights,
                "by its SHA-256 this is the published file of " + published + ", not of " + given,
                file);
  }
  if (std::find(candidates.begin(), candidates.end(), given) != candidates.end()) return given;
  throw Error(Reason::bad_weights,
              "the tensors are those of " + joined(candidates, " or ") + ", not of " + given, file);
}

// What the weights' owner says of their sizes.
std::string config_of(const TensorSource& source, const std::string& model, const fs::path& file) {
  const auto arguments = source.metadata().find("args.model");
  if (arguments != source.metadata().end()) return arguments->second;
  const fs::path beside = file.parent_path() / "config.json";
  std::error_code failure;
  const bool there = model.starts_with("dinov3") && fs::is_regular_file(beside, failure);
  return there ? read_file(beside) : std::string();
}

}  // namespace

ImportedWeights import_weights(const fs::path& file, const std::string& model,
                               const fs::path& out) {
  const std::string member = model.empty() ? std::string() : known_model(model).member;
  const auto source = open_tensor_file(file, member);
  ImportedWeights imported;
  imported.model = model_of(*source, model, file);
  imported.source_sha256 = weights_identity(*source);
  imported.file = out;
  if (out.empty()) {
    if (user_weights_folder().empty()) {
      throw Error(Reason::bad_option, "neither XDG_DATA_HOME nor HOME is set: give --out");
    }
    imported.file = user_weights_folder() / (imported.model + ".safetensors");
  }
  std::map<std::string, std::string> metadata = source->metadata();
  metadata["model"] = imported.model;
  metadata["licence"] = known_model(imported.model).licence;
  metadata["source"] = file.filename().string();
  metadata["source_sha256"] = imported.source_sha256;
  const std::string config = config_of(*source, imported.model, file);
  if (!config.empty()) metadata["config"] = config;
  std::vector<StoredTensor> tensors;
  for (const std::string& name : source->names()) {
    tensors.push_back(*source->find(name));
    imported.elements += tensors.back().elements();
  }
  imported.tensors = tensors.size();
  write_safetensors(imported.file, tensors, metadata);
  return imported;
}

}  // namespace skyfix
