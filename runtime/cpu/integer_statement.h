// Reads back, from packed weights and parameters, which function a kernel computes. The kernel
// multiplies integers, or floats by integers.
#ifndef LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
#define LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/integers/product_kernel.h"
#include "runtime/cpu/kernels/integers/weight_only_kernel.h"

namespace lemma::cpu {

// StatementOf (statement.h) for the kernels of runtime/cpu/kernels/integers/product_kernel.h.
absl::StatusOr<Graph> IntegerStatementOf(const CpuKernelSpec& spec,
                                         const IntegerProductParts& parts);

// The same for a kernel of runtime/cpu/kernels/integers/weight_only_kernel.h with these weights.
absl::StatusOr<Graph> WeightOnlyStatementOf(const CpuKernelSpec& spec,
                                            const kernels::NarrowWeights& weights);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
