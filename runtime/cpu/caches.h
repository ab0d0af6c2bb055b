// Puts the processor's caches into a realistic state before a kernel is measured.
#ifndef LEMMA_RUNTIME_CPU_CACHES_H_
#define LEMMA_RUNTIME_CPU_CACHES_H_

#include <vector>

#include "absl/types/span.h"

namespace lemma::cpu {

using MemoryRanges = std::vector<absl::Span<const char>>;

// Puts the caches into the state that they have at the start of a kernel in a large model. Then the
// `cold` ranges are in main memory: weights, last read in the previous run, and memory for results,
// last used some kernels ago. The `warm` ranges, written by the preceding kernel, are in the
// fastest caches that are large enough. Everything else that the kernel needs, including its code,
// is no longer in the caches of the core. On x86-64, which can flush single cache lines, the call
// takes some tenths of a millisecond per megabyte; on other processors it takes at least some
// milliseconds.
void ArrangeCaches(const MemoryRanges& cold, const MemoryRanges& warm);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_CACHES_H_
