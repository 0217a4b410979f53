// A memory plan for people and for programs.
#pragma once

#include <string>

#include "skyfix/memory/plan.h"
#include "skyfix/report/json_fields.h"

namespace skyfix {

// Components with their bytes, the verdict, the settings, notes, and, where it does not fit, what
// would.
std::string plan_table(const Plan& plan);

// The same in numbers (docs/formats.md).
Json plan_json(const Plan& plan);

}  // namespace skyfix
