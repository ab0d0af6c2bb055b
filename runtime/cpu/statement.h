// What a kernel computes, read back from what a library was handed.
#ifndef LEMMA_RUNTIME_CPU_STATEMENT_H_
#define LEMMA_RUNTIME_CPU_STATEMENT_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The kernel's result as a graph over the operands of its spec, in the spec's order: from the
// primitive's descriptor, its post-operations and its memory descriptors, not from the nodes that
// it was made for. What lies in memory as a descriptor says is told apart by strides, so operands
// that were swapped, a wrong stride, a lost post-operation are another graph.
//
// Unimplemented, with a reason, for kernels that are not the library's and for primitives of which
// there is no reading; Internal if a descriptor does not fit its operand's place in memory.
absl::StatusOr<Graph> StatementOf(const CpuKernelSpec& spec, const Kernel& kernel);

// The spec's nodes over the same operands. A static operand of one element, which kernels take for
// a number, is that number.
absl::StatusOr<Graph> MeaningOf(const CpuKernelSpec& spec, const StaticValues& statics);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_STATEMENT_H_
