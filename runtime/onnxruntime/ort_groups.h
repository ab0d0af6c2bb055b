// Guesses which operators of a graph ONNX Runtime executes together.
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_ORT_GROUPS_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_ORT_GROUPS_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::ort {

// The groups, each as positions in uses.nodes, ascending; in the order of their last members.
//
// An element-wise operator joins the group that alone reads its result, if the readers are
// element-wise and have the shape of this result. Under the same condition, at most one
// operator of another kind, such as a convolution, joins each group. ONNX Runtime decides itself
// which operators it fuses within a group. If it fuses an operator with another group, or
// moves it past another group, the operator is timed as if it stayed in its own group. No group has
// operators that only give values another shape (Reshape and the like), depend on weights only, or
// have no definition.
std::vector<std::vector<int>> GroupsOf(const UseTable& uses, NodeTraitsCache* traits);

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_GROUPS_H_
