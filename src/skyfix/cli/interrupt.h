// Ctrl-C, SIGTERM and a closed terminal during long work: finish what is in hand, then stop.
#pragma once

#include <atomic>

namespace skyfix::cli {

// From now on the first of them sets the flag, and a second Ctrl-C ends the program at once. The
// flag begins unset.
void catch_interrupts();
const std::atomic<bool>& interrupted();

}  // namespace skyfix::cli
