// Replaces values of a graph by other values. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_REWIRE_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_REWIRE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma::referee {

using ValueMap = absl::flat_hash_map<Value, Value>;
// The operator of `node`, applied to moved[operand] in the place of each operand. `moved` must
// contain all operands. A node that is not an operator is returned unchanged.
NodePtr WithOperands(const NodePtr& node, const ValueMap& moved);
// Replaces each key of `replaced` by its value, in all uses in `graph`. Returns, for each value of
// `graph`, the value that then takes its place.
ValueMap AfterReplacing(const Graph& graph, const ValueMap& replaced);

// The graph with `values` as its outputs. Keeps all inputs, and the nodes on which `values` depend.
Graph WithValues(const Graph& graph, const std::vector<Value>& values);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_REWIRE_H_
