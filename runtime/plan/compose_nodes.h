// The meaning of several applications that run as one kernel.
#ifndef LEMMA_RUNTIME_PLAN_COMPOSE_NODES_H_
#define LEMMA_RUNTIME_PLAN_COMPOSE_NODES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/expr/arithmetic.h"
#include "graph/graph.h"

namespace lemma {

// What `nodes` read and none of them makes: distinct values in the order of their first use.
std::vector<Value> OperandsOf(absl::Span<const NodePtr> nodes);

// What the nodes are computed in as one kernel.
Arithmetic ArithmeticOf(absl::Span<const NodePtr> nodes);

// One definition over `inputs` whose outputs are those of the last of `nodes`, operands before
// users. Every operand is one of `inputs` or an output of an earlier node. The other nodes' tensors
// are locals, rounded to their types as storing them would.
absl::StatusOr<Definition> ComposeNodes(absl::Span<const NodePtr> nodes,
                                        absl::Span<const Value> inputs);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_COMPOSE_NODES_H_
