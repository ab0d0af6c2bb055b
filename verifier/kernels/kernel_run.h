// Executes one kernel of a program. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_KERNEL_RUN_H_
#define LEMMA_VERIFIER_KERNELS_KERNEL_RUN_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "verifier/kernels/machine.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// The roles of a kernel (block_memory.h): the first thread and the number of threads of each. All
// threads are one role unless PrintedKernel::warpgroups is set.
std::vector<std::pair<int, int>> RolesOf(const PrintedKernel& kernel);

// The number of registers that each thread of a block has if the block is alone on a
// multiprocessor. `threads`: of the block.
int64_t RegisterShare(int threads);

// Executes `blocks` blocks of a kernel. `roles` holds a parsed copy of the kernel for each of
// RolesOf(), all analyzed (FindUniform in printed/analysis.h). Reads and writes `slots`, the
// tensors of the program. FailedPrecondition for a fault of the kernel. Subtracts the operations
// executed from *work; ResourceExhausted if it falls below 0. Sets *reported if the kernel reports
// an index outside its tensor; this is a fault if `reported` is nullptr. `extremes`: see
// extremes.h.
absl::Status RunKernel(absl::Span<PrintedKernel> roles, int64_t blocks,
                       absl::Span<SlotMemory> slots, const std::optional<Extremes>& extremes,
                       int64_t* work, bool* reported);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_KERNEL_RUN_H_
