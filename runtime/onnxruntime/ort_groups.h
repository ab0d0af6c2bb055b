// Guesses which operators of a graph ONNX Runtime executes together.
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_ORT_GROUPS_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_ORT_GROUPS_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::ort {

// Each group is a list of positions in uses.nodes, ascending. The groups are in the order of their
// last members.
//
// An element-wise operator joins a group if its only result is not an output of the graph, all
// readers of the result are element-wise operators of this group, and their results have the shape
// of its result. Under the same conditions, at most one operator of another kind, such as a
// convolution, joins each group. An operator that only moves elements (Transpose, Concat) is always
// alone in its group. A group that has reached 24 operators grows no further. ONNX Runtime decides
// itself which operators of a group it fuses. If it fuses an operator with another group, or moves
// it past another group, the operator is timed as if it stayed in its own group. Three kinds of
// operators are in no group: those that only give values another shape (Reshape and the like),
// those that depend on weights and constants only, and those without a definition.
std::vector<std::vector<int>> GroupsOf(const UseTable& uses, NodeTraitsCache* traits);

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_GROUPS_H_
