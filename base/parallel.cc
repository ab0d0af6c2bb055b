#include "base/parallel.h"

#include <omp.h>

#include <algorithm>

namespace lemma {

// Uses OpenMP's threads, because oneDNN uses them too: two pools on the same cores would wait for
// each other.
void ParallelFor(int threads, int64_t n, const std::function<void(int64_t, int64_t)>& body) {
  if (n <= 0) return;
  threads = static_cast<int>(std::min<int64_t>(threads, n));
  if (threads <= 1 || omp_in_parallel()) return body(0, n);
  // A few chunks per thread, so that threads of unequal speed finish together.
  const int64_t chunk = std::max<int64_t>(1, n / (4 * threads));
  const int64_t chunks = (n + chunk - 1) / chunk;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < chunks; ++c) body(c * chunk, std::min(n, (c + 1) * chunk));
}

}  // namespace lemma
