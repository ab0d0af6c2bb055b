// Evaluates single operators by their definitions while a model is imported.
#ifndef LEMMA_GRAPH_ONNX_FOLD_H_
#define LEMMA_GRAPH_ONNX_FOLD_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// The values of the outputs of `node`, an operator with a definition, for these
// input values. The computation is in exact integers if all inputs and outputs
// are integers or bools and all intermediate results are integers. Otherwise it
// is in doubles. ResourceExhausted if an output cannot be allocated; OutOfRange
// if an element that serves as an index is outside its tensor.
absl::StatusOr<std::vector<Tensor>> FoldNode(const Node& node, absl::Span<const Tensor> inputs);

// Whether the node makes floats from a large tensor of narrower integers or
// small floats, as the dequantization of a weight does. A tensor is large if it
// has more than 64 elements, and more than one dimension above 1. The import
// does not evaluate such a node: the floats would take more memory, and the
// graph would no longer contain the integers that integer kernels need.
bool WidensIntegers(const Node& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_FOLD_H_
