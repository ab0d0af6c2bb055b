// Folds constants: values that depend on known weights only are computed once, after optimization.
#ifndef LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_
#define LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::optimizer {

// The operator nodes of `graph` that depend only on constants and weights with known values.
// Excluded: opaque operators; results so much larger than their operands (such as an expanded
// constant) that storing them would cost more than computing them; conversions of stored narrow
// integers to floats, such as the dequantization of a weight (graph/onnx/fold.h).
absl::flat_hash_set<const Node*> FoldableNodes(const Graph& graph);

// Whether the operator node folds if its operands do.
bool IsFoldable(const Node& node);

// Puts a constant in the place of every foldable value that other nodes or outputs still use.
// Computes in double (integers exactly) without rounding intermediate results, and rounds once to
// the value's type. A node that cannot be computed stays, and so do the values of the nodes in
// `kept`. Returns `graph` unchanged if nothing folds; ResourceExhausted if memory is exhausted.
absl::StatusOr<Graph> FoldConstants(const Graph& graph, int threads = 1,
                                    const absl::flat_hash_set<const Node*>& kept = {});

// The same. Sets *out_of_range if a constant that `before`, the graph before its rewriting, does
// not compute too is far from its exact value, because it overflows its type or lies below the
// type's normal numbers: if an element is off by more than rounding changes the largest one.
// Constants of f32 with more than 2^24 elements are not looked at.
absl::StatusOr<Graph> FoldConstants(const Graph& graph, int threads,
                                    const absl::flat_hash_set<const Node*>& kept,
                                    const Graph& before, bool* out_of_range);

// The graph that FoldConstants would make, without computing: weights without values stand for its
// constants. For costs and plans, which depend on types only.
Graph AssumeFolded(const Graph& graph);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_
