// Loops over several threads.
#ifndef LEMMA_BASE_PARALLEL_H_
#define LEMMA_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace lemma {

// Calls body(begin, end) for disjoint ranges that cover [0, n), on up to `threads` threads, the
// caller's among them, and returns when all calls have. Which thread gets which range is open; a
// body called on ranges in turn must give the same. Threads are kept for later calls. A call from
// within a body, or while another call is running, runs on its own thread only.
void ParallelFor(int threads, int64_t n, const std::function<void(int64_t, int64_t)>& body);

}  // namespace lemma

#endif  // LEMMA_BASE_PARALLEL_H_
