// What this machine and process are made of, as `skyfix doctor` prints it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

struct MachineFacts {
  std::string processor;     // "AMD EPYC 9554"; empty = unknown
  std::string distribution;  // "Debian GNU/Linux 12 (bookworm)"
  unsigned cores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;
};
MachineFacts machine_facts();

// Parsers of the files under /proc and /etc that the above reads.
std::string processor_in(std::string_view cpuinfo);
std::string distribution_in(std::string_view os_release);
// A "MemTotal:  24 kB" line in bytes; 0 when absent.
std::uint64_t memory_line_in(std::string_view meminfo, std::string_view key);
// The shared libraries of a /proc/PID/maps, each once, in order of name.
std::vector<std::filesystem::path> libraries_in(std::string_view maps);

std::vector<std::filesystem::path> loaded_libraries();

}  // namespace skyfix
