// Cuts a graph into parts at its opaque operators. Internal to runtime/staged.
#ifndef LEMMA_RUNTIME_STAGED_CUT_H_
#define LEMMA_RUNTIME_STAGED_CUT_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/run_conditions.h"

namespace lemma {

// A part of the graph or, if `call` is set, one opaque operator. It is executed only if all
// `conditions` hold; their values are computed before it.
struct Stage {
  NodePtr call;
  Graph part;
  // The values of the whole graph that the inputs and outputs are.
  std::vector<Value> inputs, outputs;
  std::vector<RunCondition> conditions;
  absl::flat_hash_map<const Node*, NodePtr> origin;  // by node of the part, that of the whole graph
};

// The stages of `graph`, in the order of execution. The outputs of the last one are the graph's.
// Errors are those of GraphBuilder::Build for a part.
absl::StatusOr<std::vector<Stage>> Cut(const Graph& graph);

// Whether the node is an opaque operator.
bool IsCall(const Node& node);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STAGED_CUT_H_
