// Composes the definitions of operators by substitution into one definition of a graph.
#ifndef LEMMA_GRAPH_EXPR_COMPOSE_H_
#define LEMMA_GRAPH_EXPR_COMPOSE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/expr/substitute.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// A step of a composition applies a definition to tensors. A Source says where a tensor comes from:
// input `index` of the whole composition (step == -1), or output `index` of an earlier step.
struct Source {
  int step = -1;
  int index = 0;
};
struct ComposeStep {
  const Definition* definition = nullptr;  // not owned
  std::vector<Source> inputs;              // one for each of definition->inputs
};

// One definition that computes `steps`, which are in topological order, from `inputs`. Tensors that
// `outputs` do not need are dropped; tensors that `outputs` need, but do not contain, become locals
// (tensors that are neither inputs nor outputs). An input or a repeated tensor among `outputs` is
// copied. InvalidArgument if a source does not exist, if a step and its definition have different
// numbers of inputs, or if the rank of a source differs from the rank of the input that it feeds.
// The caller checks that sizes agree. If `made_by` is not null, *made_by receives for each tensor
// of the result the number of the step that makes it; steps.size() for a copy.
absl::StatusOr<Definition> Chain(absl::Span<const ExprType> inputs,
                                 absl::Span<const ComposeStep> steps,
                                 absl::Span<const Source> outputs,
                                 std::vector<int>* made_by = nullptr);

// Replaces each read of a local by the local's body at the indices of the read.
// Reductions in the body get fresh variables. Drops locals that are no longer
// read. `which` chooses the locals; default: all. A local that is read at two
// different indices is computed twice. Guards that become true or false are
// folded as in Substitute (substitute.h).
Definition Inline(const Definition& definition,
                  const std::function<bool(TensorId local)>& which = nullptr);

// `consumer` fed by `producer`: feeds[i] is the number of the producer's output that replaces input
// i of the consumer, or nullopt if the input remains. The result's inputs are the producer's
// inputs, then the consumer's remaining inputs; its outputs are the consumer's outputs.
// Intermediate tensors become locals, which Inline() removes. InvalidArgument as for the other
// Chain, or if feeds.size() is not the number of the consumer's inputs.
absl::StatusOr<Definition> Chain(const Definition& producer, const Definition& consumer,
                                 absl::Span<const std::optional<int>> feeds);

// Replaces the named symbols (sizes, integer attributes) and parameters (real attributes) by
// constants; others stay.
Definition Bind(const Definition& definition,
                const absl::flat_hash_map<std::string, int64_t>& symbols,
                const absl::flat_hash_map<std::string, double>& params = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_COMPOSE_H_
