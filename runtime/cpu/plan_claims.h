// Lists what the kernels of a plan claim to compute, so that the claims can be checked: each kernel
// claims that it computes its nodes.
#ifndef LEMMA_RUNTIME_CPU_PLAN_CLAIMS_H_
#define LEMMA_RUNTIME_CPU_PLAN_CLAIMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/blocks/block_check.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/executor.h"

namespace lemma {

// What one kernel claims to compute.
struct KernelClaim {
  std::string kernel;  // its signature
  Graph meaning;       // the nodes that it was built for, over its operands
  // The computation over the same operands, read back from the descriptors that oneDNN was given or
  // from packed weights (statement.h). nullopt if there is none; why_none gives the reason.
  std::optional<Graph> statement;
  std::string why_none;
  // By operand: its value in every run, if it is a weight or a constant; otherwise empty.
  std::vector<Tensor> statics;
  // Whether the statement contains constants. The kernel may have computed them from `statics` and
  // rounded them.
  bool has_constants = false;
};

// The claims of every kernel that the CPU back end would run for `graph`, built as it would build
// them. Internal if CheckMovement or CheckConditions (plan_check.h) finds a fault in the plan, if
// simultaneously live buffers share memory, or if StatementOf (statement.h) gives Internal for a
// kernel. Fails as Compile does if there is no plan.
absl::StatusOr<std::vector<KernelClaim>> ClaimsOfPlan(const Graph& graph,
                                                      const CompileOptions& compile = {},
                                                      const CpuOptions& options = {});

// Proves that the graph in blocks that the CPU back end would plan computes the same as the graph
// before it is divided (CheckBlocks in blocks/block_check.h). Internal if this cannot be proved.
absl::StatusOr<cpu::BlockEvidence> ProveBlocksOfPlan(const Graph& graph);

// InvalidArgument, with the difference, unless statement and meaning agree on random operands. Both
// are computed in double and finally rounded to the result's type. They may differ by 1e-6 (1e-5 if
// has_constants) times the larger of 1 and the largest result. Different sums of products differ at
// random numbers almost surely. Weights are random too, unless has_constants or they have one
// element. OK without a statement.
absl::Status CheckClaim(const KernelClaim& claim, uint64_t seed);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CPU_PLAN_CLAIMS_H_
