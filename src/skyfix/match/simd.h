// Choosing the kernel at run time.
#pragma once

#include "skyfix/match/kernel.h"
#include "skyfix/match/mutual_nearest.h"

namespace skyfix::match {

// The kernel for a request; one that this processor lacks falls to the best that it has.
const Kernel& kernel_for(Simd simd);

}  // namespace skyfix::match
