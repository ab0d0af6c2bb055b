// Runs loops on several threads.
#ifndef LEMMA_BASE_PARALLEL_H_
#define LEMMA_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace lemma {

// Calls body(begin, end) for disjoint ranges that cover [0, n) and returns when all calls have
// returned. It uses up to `threads` threads, the caller's among them. The assignment of ranges to
// threads is unspecified, so the result must not depend on it. The threads are kept for later
// calls. A call from within a body uses only its own thread.
void ParallelFor(int threads, int64_t n, const std::function<void(int64_t, int64_t)>& body);

}  // namespace lemma

#endif  // LEMMA_BASE_PARALLEL_H_
