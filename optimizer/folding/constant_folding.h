// What depends on known weights only is computed once, when optimization ends.
#ifndef LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_
#define LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::optimizer {

// The operator nodes of `graph` whose operands, and theirs, are constants and weights with known
// values. Left out: opaque operators, and results so much larger than their operands (an expanded
// constant) that keeping them would cost more than computing them.
absl::flat_hash_set<const Node*> FoldableNodes(const Graph& graph);

// Whether the operator node folds if its operands do.
bool IsFoldable(const Node& node);

// `graph` with every foldable value that is still used replaced by a constant. Computed in double
// (integers exactly), intermediate results unrounded, and rounded once to the value's type. A node
// that cannot be computed stays. Unchanged if nothing folds.
absl::StatusOr<Graph> FoldConstants(const Graph& graph, int threads = 1);

// The graph that FoldConstants would make, less the work: a weight without values stands for every
// constant it would compute. For costs and plans, which depend on types alone.
Graph AssumeFolded(const Graph& graph);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_
