// The real photos, ways to spoil them, and evaluation through the command line. For tests only.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "process.h"
#include "skyfix/image/image.h"

namespace skyfix::testing {

// Builds the Brighton or university map once for the process; returns its folder.
const std::filesystem::path& brighton_map();
const std::filesystem::path& university_map();

// Localizes `input` and evaluates against `reference`; returns the evaluation's JSON. Fails the
// test when a command fails.
nlohmann::json localize_and_evaluate(const std::filesystem::path& map,
                                     const std::filesystem::path& input,
                                     const std::filesystem::path& reference,
                                     const std::filesystem::path& run,
                                     const std::vector<std::string>& more = {});

// A picture changed on purpose, and what that does to its camera.
struct Spoil {
  std::string name;
  int quality = 95;
  int quarters = 0;  // turned clockwise; the reference is turned with it
  double scale = 1;
  std::function<Image(const Image&)> change;
};

// Writes the five Brighton queries spoiled, and a reference.json with poses turned likewise.
void write_spoiled_brighton(const Spoil& spoil, const std::filesystem::path& folder);

}  // namespace skyfix::testing
