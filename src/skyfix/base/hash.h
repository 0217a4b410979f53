// Digests, as lower-case hex. SHA-1 only where a file format prescribes it; SHA-256 elsewhere.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace skyfix {

std::string sha1_hex(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
// Digest of a file's content. Throws Error(unreadable_file).
std::string sha256_hex_of_file(const std::filesystem::path& file);

}  // namespace skyfix
