// Reads back which function an integer product's kernel computes, from its packed weights and
// parameters.
#ifndef LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
#define LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/integers/product_kernel.h"

namespace lemma::cpu {

// StatementOf (statement.h) for the kernels of product_kernel.h.
absl::StatusOr<Graph> IntegerStatementOf(const CpuKernelSpec& spec,
                                         const IntegerProductParts& parts);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
