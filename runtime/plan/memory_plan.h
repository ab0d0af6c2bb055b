// Plans memory statically: buffers with known lifetimes share one arena.
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

// Places large buffers first, each into the smallest sufficient gap between placed buffers whose
// lifetimes overlap its own, or else behind these buffers. Deterministic; O(n^2) for n buffers.
MemoryPlan PlanMemory(absl::Span<const BufferLife> buffers, int64_t alignment = 64);

// Internal, with the numbers of the buffers, if simultaneously live buffers overlap or a buffer
// leaves the arena.
absl::Status CheckMemoryPlan(absl::Span<const BufferLife> buffers, const MemoryPlan& plan);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_MEMORY_PLAN_H_
