// Cuts a graph into stages, which are executed one after another. Each opaque operator is a stage.
// Internal to runtime/staged.
#ifndef LEMMA_RUNTIME_STAGED_CUT_H_
#define LEMMA_RUNTIME_STAGED_CUT_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/run_conditions.h"

namespace lemma {

// One opaque operator, if `call` is set; otherwise a part of the graph without opaque operators. A
// stage is executed only if all `conditions` hold. A condition that an operator computes is
// computed by an earlier stage.
struct Stage {
  NodePtr call;
  Graph part;  // not used if `call` is set; empty if `outputs` is empty: nothing is to be executed
  // The stage's inputs and outputs, as values of the whole graph. A part contains the weights and
  // constants that it reads; those that a `call` reads are among its inputs.
  std::vector<Value> inputs, outputs;
  std::vector<RunCondition> conditions;
  // For each operator of the part: the node of the whole graph from which it was copied.
  absl::flat_hash_map<const Node*, NodePtr> origin;
};

// The stages of `graph`, in the order of execution. Some operators that are not opaque are stages
// of their own too: operators that are executed only under conditions, and that read or have
// symbolic sizes that an opaque operator may determine. If a condition does not hold, these sizes
// are not known.
// The last stage has no `call`; its outputs are the outputs of `graph`. Errors are those of
// GraphBuilder::Build for a part.
absl::StatusOr<std::vector<Stage>> Cut(const Graph& graph);

// Whether `node`, which must be an operator, is opaque.
bool IsCall(const Node& node);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STAGED_CUT_H_
