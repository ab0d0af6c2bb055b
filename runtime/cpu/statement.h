// Reads back which function a kernel computes, from the descriptors that oneDNN was given or from
// packed weights.
#ifndef LEMMA_RUNTIME_CPU_STATEMENT_H_
#define LEMMA_RUNTIME_CPU_STATEMENT_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The kernel's result as a graph over the operands of its spec, in the spec's order. A primitive is
// read from its descriptor, its post-operations and its memory descriptors, not from the nodes that
// the kernel was built for. Strides identify the elements in memory, so swapped operands, a wrong
// stride or a lost post-operation give another graph. A product of integers is read from its packed
// weights, sizes, scales and steps; a product of floats and integer weights, from its packed
// weights.
//
// Unimplemented, with a reason, for all other kernels and for primitives that cannot be read back;
// Internal if a descriptor does not fit its operand's place in memory.
absl::StatusOr<Graph> StatementOf(const CpuKernelSpec& spec, const Kernel& kernel);

// The graph that the kernel should compute, for comparison with its statement: the spec's nodes
// over the operands of the spec. A static operand with one element, which kernels use as a number,
// becomes that number.
absl::StatusOr<Graph> MeaningOf(const CpuKernelSpec& spec, const StaticValues& statics);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_STATEMENT_H_
