// A map folder in the making: written beside its place and renamed when whole.
#pragma once

#include <filesystem>

namespace skyfix {

class PartialMapFolder {
 public:
  // Makes an empty folder beside `folder`. Throws Error(unwritable_output) when something is at
  // `folder` that may not be replaced: anything but an empty folder or, with `overwrite`, a map
  // folder with nothing else in it.
  PartialMapFolder(const std::filesystem::path& folder, bool overwrite);
  ~PartialMapFolder();  // removes what was not published
  PartialMapFolder(const PartialMapFolder&) = delete;
  PartialMapFolder& operator=(const PartialMapFolder&) = delete;

  const std::filesystem::path& path() const { return partial_; }

  // Puts the folder in its place; an older map is there until then and comes back when that fails.
  // Throws Error(unwritable_output).
  void publish();

 private:
  std::filesystem::path folder_;
  std::filesystem::path partial_;
  std::filesystem::path replaced_;  // where the older map waits for its removal
};

}  // namespace skyfix
