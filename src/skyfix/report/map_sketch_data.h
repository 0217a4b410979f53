// What a map and a run's records give a sketch.
#pragma once

#include <string>
#include <vector>

#include "skyfix/map/map_folder.h"
#include "skyfix/report/map_sketch.h"
#include "skyfix/report/record.h"
#include "skyfix/report/reference.h"

namespace skyfix {

// With georegistration: east-north-up from above. Without: along the axis of the map's own frame in
// which the points spread least, from above as most of the map's cameras have it. At most 6000
// points are taken, evenly. `reference` may be null.
MapSketch make_map_sketch(const Map& map, const std::vector<Record>& records,
                          const Reference* reference, const std::string& title);

}  // namespace skyfix
