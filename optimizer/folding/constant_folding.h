// Folds constants: values that depend on known weights only are computed once, after optimization.
#ifndef LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_
#define LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::optimizer {

// The operator nodes of `graph` that depend only on constants and weights with known values, except
//   * opaque operators, and operators with symbolic sizes;
//   * operators whose results are so much larger than their operands (such as an expanded constant)
//     that storing the results would cost more than computing them; and
//   * conversions of stored narrow integers to floats, such as the dequantization of a weight
//     (graph/onnx/fold.h).
absl::flat_hash_set<const Node*> FoldableNodes(const Graph& graph);

// Whether the operator node is foldable if its operands are.
bool IsFoldable(const Node& node);

// Replaces each foldable value by a constant if it is an output, or an operand of a node that is
// not foldable. Computes in double (integers exactly) without rounding intermediate results, and
// rounds once to the value's type. A node that cannot be computed stays, and so do the values of
// the nodes in `kept`. Returns `graph` unchanged if nothing folds; ResourceExhausted if memory is
// exhausted.
absl::StatusOr<Graph> FoldConstants(const Graph& graph, int threads = 1,
                                    const absl::flat_hash_set<const Node*>& kept = {});

// The same, with a check that the constants are close to their exact values. `before` is the graph
// before it was rewritten. An element can be far from its exact value if it overflows the type or
// lies below the type's normal numbers. Sets *out_of_range to true if an element of a constant
// differs from its exact value by more than twice the error that rounding may add to the constant's
// largest element. Otherwise *out_of_range keeps its value. Not checked: constants that `before`
// computes too, and most f32 constants with more than 2^24 elements.
absl::StatusOr<Graph> FoldConstants(const Graph& graph, int threads,
                                    const absl::flat_hash_set<const Node*>& kept,
                                    const Graph& before, bool* out_of_range);

// The graph that FoldConstants would make, but without computing the constants: weights without
// values stand for them. For costs and plans, which depend on types only.
Graph AssumeFolded(const Graph& graph);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_FOLDING_CONSTANT_FOLDING_H_
