// Reads the function that a product of integers computes back from what its kernel holds.
#ifndef LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
#define LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/integers/product_kernel.h"

namespace lemma::cpu {

// See StatementOf in statement.h.
absl::StatusOr<Graph> IntegerStatementOf(const CpuKernelSpec& spec,
                                         const IntegerProductParts& parts);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_INTEGER_STATEMENT_H_
