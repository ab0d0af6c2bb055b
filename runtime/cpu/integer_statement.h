// Reads back which function a kernel computes that multiplies integers, or floats by integers, from
// its packed weights and parameters.
#ifndef LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
#define LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/integers/product_kernel.h"
#include "runtime/cpu/kernels/integers/weight_only_kernel.h"

namespace lemma::cpu {

// StatementOf (statement.h) for the kernels of product_kernel.h.
absl::StatusOr<Graph> IntegerStatementOf(const CpuKernelSpec& spec,
                                         const IntegerProductParts& parts);

// The same for a kernel of weight_only_kernel.h with these weights.
absl::StatusOr<Graph> WeightOnlyStatementOf(const CpuKernelSpec& spec,
                                            const kernels::NarrowWeights& weights);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
