// Runs loops on several threads.
#ifndef LEMMA_BASE_PARALLEL_H_
#define LEMMA_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace lemma {

// Calls body(begin, end) for disjoint ranges that cover [0, n) and returns when all calls have
// returned. Uses up to `threads` threads, including the caller's. The ranges, and the thread that
// takes each range, are unspecified, so the result must not depend on them. Calls nothing if n is 0
// or less. `body` must not throw. The threads are kept for later calls. If a call uses several
// threads, a nested call, made inside its `body`, uses only the thread that makes it.
void ParallelFor(int threads, int64_t n, const std::function<void(int64_t, int64_t)>& body);

}  // namespace lemma

#endif  // LEMMA_BASE_PARALLEL_H_
