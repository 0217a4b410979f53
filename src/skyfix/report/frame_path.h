// Where a frame's own record lies: frames/NAME.json, NAME being the frame's name with its folders.
#pragma once

#include <filesystem>
#include <string_view>

namespace skyfix {

// Path relative to the run folder. Stays inside it whatever the name is, and differs for different
// names: ordinary names are kept as they are; components "." and "..", empty ones (also that before
// a leading '/'), control characters, backslashes, and '%' before two hex digits are
// percent-encoded; a component too long for a file system is cut and gets a hash.
std::filesystem::path frame_record_path(std::string_view name);

}  // namespace skyfix
