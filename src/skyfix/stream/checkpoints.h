// The checkpoints of a run: which there are, and which one a resumed run goes on from. A file's
// name says how many frames of the source had been read, and how many of these had been given out:
// read-000120-given-000112.ckpt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace skyfix {

struct StreamCheckpoint {
  std::filesystem::path file;
  std::int64_t read = 0;   // frames of the source
  std::int64_t given = 0;  // of these, results that the sink had taken
};

// The newest first; none where there is no such folder.
std::vector<StreamCheckpoint> checkpoints_in(const std::filesystem::path& folder);
// Of these, the ones that a run with so many records can go on from: none of its results is
// missing.
std::vector<StreamCheckpoint> usable_checkpoints(const std::filesystem::path& folder,
                                                 std::int64_t recorded);
std::filesystem::path checkpoint_file(const std::filesystem::path& folder, std::int64_t read,
                                      std::int64_t given);
// All but the newest `count` are removed. What cannot be removed stays.
void keep_newest(const std::filesystem::path& folder, std::size_t count);

}  // namespace skyfix
