// Puts the processor's caches into a realistic state before a kernel is measured.
#ifndef LEMMA_RUNTIME_CPU_CACHES_H_
#define LEMMA_RUNTIME_CPU_CACHES_H_

#include <vector>

#include "absl/types/span.h"

namespace lemma::cpu {

using MemoryRanges = std::vector<absl::Span<const char>>;

// Arranges the caches as at the start of a kernel in a large model. `cold` ranges are in main
// memory: weights, last read in the previous run, and memory for results, last used some kernels
// ago. `warm` ranges, written by the preceding kernel, are in the fastest caches that are large
// enough. Everything else that the kernel needs, including its code, has been displaced from the
// caches of the core by other kernels. Takes some tenths of a millisecond per megabyte on x86-64,
// which can flush single cache lines, and at least some milliseconds on other processors.
void ArrangeCaches(const MemoryRanges& cold, const MemoryRanges& warm);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_CACHES_H_
