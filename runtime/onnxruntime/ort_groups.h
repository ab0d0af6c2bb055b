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
// An operator joins the group of its readers if all of these hold; otherwise it starts a new group:
//   * It has one result, which is not an output of the graph.
//   * All readers of the result are element-wise operators of one group, and their results have the
//     shape of this result.
//   * It is element-wise too, or all operators of the group are element-wise. So a group has at
//     most one operator that is not element-wise, such as a convolution.
//   * The group has fewer than 24 operators.
//
// An operator that only moves elements (Transpose, Concat) is always alone in its group. Three
// kinds of operators are in no group: those whose result has the elements of an operand in the same
// order (Reshape and the like), those that depend on weights and constants only, and those without
// a definition.
//
// ONNX Runtime may fuse operators of different groups, or move an operator past another group. Such
// an operator is timed in its own group all the same.
std::vector<std::vector<int>> GroupsOf(const UseTable& uses, NodeTraitsCache* traits);

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_GROUPS_H_
