// Where files of a frame lie in a run folder: FOLDER/NAME.json and the like, NAME being the frame's
// name with its folders.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace skyfix {

// FOLDER/NAME SUFFIX relative to the run folder. Stays inside it whatever the name is, and differs
// for different names: ordinary names are kept as they are; components "." and "..", empty ones
// (also that before a leading '/'), control characters, backslashes, and '%' before two hex digits
// are percent-encoded; a component too long for a file system is cut and gets a hash.
std::filesystem::path frame_file_path(const char* folder, std::string_view name,
                                      const std::string& suffix);

std::filesystem::path frame_record_path(std::string_view name);  // frames/NAME.json

}  // namespace skyfix
