// Plans memory before execution: buffers with known lifetimes share one block of memory, the arena.
#ifndef LEMMA_RUNTIME_PLAN_MEMORY_PLAN_H_
#define LEMMA_RUNTIME_PLAN_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace lemma {

// A buffer that holds a value from the start of step `first` to the end of step `last`. Steps are
// the kernels and copies of a plan, numbered in execution order.
struct BufferLife {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // by buffer, in bytes; multiples of the alignment
  int64_t total_bytes = 0;       // size of the arena
  int64_t live_bytes = 0;        // largest sum of the sizes of simultaneously live buffers
};

// Below, `alignment` is in bytes, and sizes of buffers are rounded up to multiples of it.

// For each step: the sum of the sizes of the buffers that are live in it. `steps` is the number of
// steps.
std::vector<int64_t> LiveBytes(absl::Span<const BufferLife> buffers, size_t steps,
                               int64_t alignment = 1);

// Places the buffers one by one, the largest first. Each goes into the smallest sufficient gap
// between the placed buffers whose lifetimes overlap its own; if there is no such gap, it goes
// behind them. Deterministic; O(n^2) time for n buffers.
MemoryPlan PlanMemory(absl::Span<const BufferLife> buffers, int64_t alignment = 64);

// OK if no two simultaneously live buffers overlap in the arena and every buffer lies inside the
// arena; otherwise Internal, with the numbers of the buffers.
absl::Status CheckMemoryPlan(absl::Span<const BufferLife> buffers, const MemoryPlan& plan);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_MEMORY_PLAN_H_
