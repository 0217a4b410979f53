#include "skyfix/report/frame_path.h"

#include <spdlog/fmt/fmt.h>

#include <cctype>
#include <string>

#include "skyfix/base/hash.h"

namespace skyfix {
namespace {

// File systems allow 255 bytes; ".json" and the suffix of an atomic write must fit as well.
constexpr std::size_t kMaxComponent = 200;
constexpr std::size_t kKeptOfLong = 140;

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

std::string percent(char c) { return fmt::format("%{:02X}", static_cast<unsigned char>(c)); }

std::string safe_component(std::string_view component) {
  if (component.empty()) return "%2F";  // no other component can hold a '/'
  if (component == ".") return "%2E";
  if (component == "..") return "%2E%2E";
  std::string safe;
  for (std::size_t i = 0; i < component.size(); ++i) {
    const char c = component[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool like_escape = c == '%' && i + 2 < component.size() && is_hex(component[i + 1]) &&
                             is_hex(component[i + 2]);
    if (byte < 0x20 || byte == 0x7F || c == '\\' || like_escape) {
      safe += percent(c);
    } else {
      safe += c;
    }
  }
  if (safe.size() <= kMaxComponent) return safe;
  std::size_t kept = kKeptOfLong;
  while (kept > 0 && (static_cast<unsigned char>(safe[kept]) & 0xC0) == 0x80) --kept;
  return safe.substr(0, kept) + "~" + sha256_hex(component).substr(0, 32);
}

}  // namespace

std::filesystem::path frame_file_path(const char* folder, std::string_view name,
                                      const std::string& suffix) {
  std::filesystem::path path = folder;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string component = safe_component(name.substr(0, slash));
    if (slash == std::string_view::npos) return path / (component + suffix);
    path /= component;
    name.remove_prefix(slash + 1);
  }
}

std::filesystem::path frame_record_path(std::string_view name) {
  return frame_file_path("frames", name, ".json");
}

}  // namespace skyfix
