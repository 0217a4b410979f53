// What a map and a run's records give a sketch.
#pragma once

#include <string>
#include <vector>

#include "skyfix/map/map_folder.h"
#include "skyfix/report/map_sketch.h"
#include "skyfix/report/record.h"
#include "skyfix/report/reference.h"

namespace skyfix {

// With georegistration: east-north-up from above. Without: the two axes of the map's own frame
// along which camera centres spread most, seen with the third axis pointing away from where the
// cameras look. At most 6000 points are taken, evenly. `reference` may be null.
MapSketch make_map_sketch(const Map& map, const std::vector<Record>& records,
                          const Reference* reference, const std::string& title);

}  // namespace skyfix
