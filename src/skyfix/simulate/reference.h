// reference.json: the truth beside a data set, format "skyfix-reference" version 1.
#pragma once

#include <string>

#include "skyfix/simulate/simulate.h"

namespace skyfix::sim {

inline constexpr const char* kMapImages = "images/map";
inline constexpr const char* kQueryImages = "images/query";
inline constexpr const char* kModel = "sparse/0";

// The file's text, keys as in the reference data sets.
std::string reference_json(const SimulatedFlight& flight);

}  // namespace skyfix::sim
