// The thorough check of an opened map: every byte is read.
#pragma once

#include "skyfix/map/map_manifest.h"

namespace skyfix {

// Throws Error(bad_map) naming the table: a hash that differs from map.json, an index out of range,
// a number that is not finite.
void verify_map(const Map& map, const map_manifest::Manifest& manifest);

}  // namespace skyfix
