#include "skyfix/memory/machine.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

namespace skyfix {
namespace {

// Files under /proc have no size; they are read to their end.
std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Calls visit(line) until it returns true.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (visit(text.substr(0, end))) return;
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// What follows `separator` on the first line that begins with `key`.
std::string_view value_of(std::string_view text, std::string_view key, char separator) {
  std::string_view found;
  each_line(text, [&](std::string_view line) {
    if (line.substr(0, key.size()) != key) return false;
    const std::size_t at = line.find(separator);
    if (at == std::string_view::npos) return false;
    found = trimmed(line.substr(at + 1));
    return true;
  });
  return found;
}

}  // namespace

std::string processor_in(std::string_view cpuinfo) {
  return std::string(value_of(cpuinfo, "model name", ':'));
}

std::string distribution_in(std::string_view os_release) {
  std::string_view name = value_of(os_release, "PRETTY_NAME", '=');
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
    name = name.substr(1, name.size() - 2);
  }
  return std::string(name);
}

std::uint64_t memory_line_in(std::string_view meminfo, std::string_view key) {
  const std::string_view value = value_of(meminfo, key, ':');
  std::uint64_t kib = 0;
  std::from_chars(value.data(), value.data() + value.size(), kib);
  return kib * 1024;
}

std::vector<std::filesystem::path> libraries_in(std::string_view maps) {
  std::set<std::filesystem::path> found;
  each_line(maps, [&](std::string_view line) {
    const std::size_t at = line.find('/');
    if (at == std::string_view::npos) return false;
    const std::string_view path = line.substr(at);
    if (path.find(".so") != std::string_view::npos) found.insert(std::filesystem::path(path));
    return false;
  });
  return {found.begin(), found.end()};
}

MachineFacts machine_facts() {
  const std::string meminfo = text_of("/proc/meminfo");
  MachineFacts facts;
  facts.processor = processor_in(text_of("/proc/cpuinfo"));
  facts.distribution = distribution_in(text_of("/etc/os-release"));
  facts.cores = std::thread::hardware_concurrency();
  facts.memory_bytes = memory_line_in(meminfo, "MemTotal");
  facts.available_bytes = memory_line_in(meminfo, "MemAvailable");
  return facts;
}

std::vector<std::filesystem::path> loaded_libraries() {
  return libraries_in(text_of("/proc/self/maps"));
}

}  // namespace skyfix
