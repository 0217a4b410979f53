// What a component needs of memory, stated before it allocates anything. The footprint_*.h of this
// room write these needs for given shapes, from the networks' specifications: formulas, no network.
// Parameter counts are exact. Workspaces are estimates (the largest set of tensors that live at the
// same time) until somebody measures them; each says how it was arrived at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skyfix {

enum class DataType { fp32, bf16, int8 };
std::string_view data_type_name(DataType type);
// Throws Error(bad_option) naming `option` for any other name.
DataType data_type_from_name(std::string_view name, std::string_view option);
constexpr std::int64_t data_type_bytes(DataType type) {
  return type == DataType::fp32 ? 4 : type == DataType::bf16 ? 2 : 1;
}

// Bytes on the device by kind, and what stays on the host.
struct ComponentNeed {
  std::string owner = {};             // its name in the ledger
  std::uint64_t weights_bytes = 0;    // there for the whole run
  std::uint64_t workspace_bytes = 0;  // highest sum of what lives only for a while
  std::uint64_t growth_bytes = 0;     // for each further `growth_unit` ...
  std::uint64_t growth_count = 0;     // ... and how many of these there will be at most
  std::string growth_unit = {};       // "kept frame", "cached reference"
  std::uint64_t host_bytes = 0;

  std::uint64_t device_bytes() const {
    return weights_bytes + workspace_bytes + growth_bytes * growth_count;
  }
};

}  // namespace skyfix
