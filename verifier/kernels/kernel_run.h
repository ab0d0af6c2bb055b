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

// The roles of a kernel (block_memory.h): their first threads and numbers of threads. One unless
// the kernel multiplies by warpgroup.
std::vector<std::pair<int, int>> RolesOf(const PrintedKernel& kernel);

// The registers that each thread of a block has, alone on a multiprocessor.
int64_t RegisterShare(int threads);

// Executes all blocks of a kernel, of which `roles` has a copy for each role, all analyzed.
// FailedPrecondition for a fault; ResourceExhausted if *work, the number of operations that are
// left, is used up. Sets *reported if the kernel reports an index outside its tensor, which is a
// fault if `reported` is nullptr.
absl::Status RunKernel(absl::Span<PrintedKernel> roles, int64_t blocks,
                       absl::Span<SlotMemory> slots, const std::optional<Extremes>& extremes,
                       int64_t* work, bool* reported);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_KERNEL_RUN_H_
