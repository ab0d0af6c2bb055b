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

// The roles of a kernel (block_memory.h), as pairs (first thread, number of threads). All threads
// are one role unless PrintedKernel::warpgroups is set.
std::vector<std::pair<int, int>> RolesOf(const PrintedKernel& kernel);

// The number of registers that each thread of a block has if the block is alone on a
// multiprocessor. `threads`: the number of threads of the block.
int64_t RegisterShare(int threads);

// Executes `blocks` blocks of a kernel. `roles` holds one parsed copy of the kernel for each role
// of RolesOf(); FindUniform (printed/analysis.h) must have analyzed each copy. Reads and writes
// `slots`, the tensors of the program. `extremes`: see extremes.h; nullopt: the usual maxima and
// minima. Subtracts the operations executed from *work. Sets *reported to true if the kernel
// reports an index outside its tensor; if `reported` is nullptr, such a report is a fault.
// FailedPrecondition for a fault of the kernel; ResourceExhausted if *work falls below 0.
absl::Status RunKernel(absl::Span<PrintedKernel> roles, int64_t blocks,
                       absl::Span<SlotMemory> slots, const std::optional<Extremes>& extremes,
                       int64_t* work, bool* reported);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_KERNEL_RUN_H_
