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
// weights, its sizes and scales, and the steps of its element-wise chains. A product of floats and
// integer weights is read from its packed weights. Nodes that run by their definitions behind such
// a product are taken from the spec. A softmax of rows is read from its numbers of rows and
// columns, and from the place of the tensor that is added to the rows, if there is one
// (kernels/row_softmax.h).
//
// Unimplemented, with a reason, for all other kernels and for primitives that cannot be read back;
// Internal if an operand is passed in a way that does not fit its place in memory or its type.
absl::StatusOr<Graph> StatementOf(const CpuKernelSpec& spec, const Kernel& kernel);

// The graph that the kernel should compute, for comparison with its statement: the spec's nodes
// over the operands of the spec. A static operand with one element, which kernels use as a number,
// becomes that number. A static f32 operand that holds bf16 numbers, and that the kernel reads as
// such, is cast to bf16 and back, which changes none of its elements.
absl::StatusOr<Graph> MeaningOf(const CpuKernelSpec& spec, const StaticValues& statics);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_STATEMENT_H_
