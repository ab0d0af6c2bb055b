// What the kernels of a plan claim to compute, for others to prove.
#ifndef LEMMA_RUNTIME_CPU_PLAN_CLAIMS_H_
#define LEMMA_RUNTIME_CPU_PLAN_CLAIMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/executor.h"

namespace lemma {

struct KernelClaim {
  std::string kernel;  // its signature
  Graph meaning;       // the nodes that it was made for, over its operands
  // The same over the same operands, as what the library was handed says (statement.h); nullopt:
  // there is none, for this reason.
  std::optional<Graph> statement;
  std::string why_none;
  // By operand: the number that it has in every run, if it is a weight or a constant; else empty.
  std::vector<Tensor> statics;
  // Whether the statement has numbers of its own, rounded from such weights.
  bool has_numbers = false;
};

// Of every kernel that the CPU back end would run `graph` by, built as it would build them.
// Internal if a step does not find in memory what it reads (plan_check.h), or if buffers that are
// alive together share memory.
absl::StatusOr<std::vector<KernelClaim>> ClaimsOfPlan(const Graph& graph,
                                                      const CompileOptions& compile = {},
                                                      const CpuOptions& options = {});

// InvalidArgument, saying how far they are apart, unless statement and meaning agree on random
// numbers, computed in double and rounded to f32 in the end: within 1e-6 of the largest, or 1e-5
// where the statement has numbers of its own. Two sums of products that are not the same differ at
// random numbers but by a chance of nothing. Weights are random too, except where numbers were made
// of them. Ok without a statement.
absl::Status CheckClaim(const KernelClaim& claim, uint64_t seed);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CPU_PLAN_CLAIMS_H_
