// The driver's management library, for what CUDA itself does not tell: the driver's version, and
// the card's memory in use before a context is made. Opened at run time; absent in some containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace skyfix {

struct CardMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t used_bytes = 0;  // by all processes
};

// All are empty when the library or the card is not to be found.
std::string nvidia_driver_version();
std::optional<CardMemory> card_memory(const std::string& pci_bus_id);

}  // namespace skyfix
