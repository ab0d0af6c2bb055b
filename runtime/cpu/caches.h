// What is in the processor's caches when a kernel is measured.
#ifndef LEMMA_RUNTIME_CPU_CACHES_H_
#define LEMMA_RUNTIME_CPU_CACHES_H_

#include <vector>

#include "absl/types/span.h"

namespace lemma::cpu {

using MemoryRanges = std::vector<absl::Span<const char>>;

// Arranges the caches as they are when a kernel of a large model starts. `cold` comes from main
// memory: weights, last read in another run, and memory for results, last used some kernels ago.
// `warm` is as near as it fits: what the kernel before wrote. All else that the kernel needs, its
// code too, has given way to the work of other kernels. Some tenths of a millisecond per megabyte;
// without an instruction that takes single lines out of the caches (x86-64 has one) some
// milliseconds at least.
void ArrangeCaches(const MemoryRanges& cold, const MemoryRanges& warm);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_CACHES_H_
