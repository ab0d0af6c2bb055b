// Composes the definitions of several applications that run as one kernel.
#ifndef LEMMA_RUNTIME_PLAN_COMPOSE_NODES_H_
#define LEMMA_RUNTIME_PLAN_COMPOSE_NODES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/expr/arithmetic.h"
#include "graph/graph.h"

namespace lemma {

// The values that `nodes` read and that none of `nodes` computes, distinct, in order of first use.
std::vector<Value> OperandsOf(absl::Span<const NodePtr> nodes);

// The nodes as a graph: the inputs x0, x1, … are OperandsOf(nodes), the outputs y0, … those of the
// last node. `nodes` are in order, operands before users, and not empty. If `keeps_indices`, inputs
// that are not floats are outputs too, so that no other value reuses their memory in a run.
absl::StatusOr<Graph> GraphOfNodes(absl::Span<const NodePtr> nodes, const std::string& name,
                                   bool keeps_indices = false);

// The arithmetic (graph/expr/arithmetic.h) in which one kernel for all `nodes` must compute;
// Arithmetic::kDouble if a node has no definition.
Arithmetic ArithmeticOf(absl::Span<const NodePtr> nodes);

// The nodes as one definition. Its inputs are `inputs`, and its outputs are the outputs of the last
// node. `nodes` are in order, operands before users. Every operand must be in `inputs` or be an
// output of an earlier node. The results of all nodes but the last are local tensors of the
// definition, rounded to their types as if they were stored. It is an error if a node has no
// definition.
absl::StatusOr<Definition> ComposeNodes(absl::Span<const NodePtr> nodes,
                                        absl::Span<const Value> inputs);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_COMPOSE_NODES_H_
