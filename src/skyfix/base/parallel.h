// One thread pool for the process. Work is split by index, so results do not depend on the number
// of threads as long as each index writes only its own slot.
#pragma once

#include <cstddef>
#include <functional>

namespace skyfix {

// Threads used by parallel_for, the calling one included. 0 = all cores. Set before work starts.
void set_thread_count(std::size_t threads);
std::size_t thread_count();

// Calls body(begin, end) over disjoint ranges of at most `grain` indices that cover [0, count).
// Blocks until all are done; rethrows the exception of the lowest failing range. Nested calls run
// in the calling thread.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body);

}  // namespace skyfix
