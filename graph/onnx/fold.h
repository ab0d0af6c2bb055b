// Evaluates single operators at import time by their definitions.
#ifndef LEMMA_GRAPH_ONNX_FOLD_H_
#define LEMMA_GRAPH_ONNX_FOLD_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// The values of `node`'s outputs for these input values. Computed as exact integers if all its
// tensors are integers or bools and all intermediate results are integers, otherwise as doubles.
absl::StatusOr<std::vector<Tensor>> FoldNode(const Node& node, absl::Span<const Tensor> inputs);

// Whether the node makes floats of narrower integers that are more than a vector and more than a
// few, as the dequantization of a weight does. Such a weight is left as it is: as floats it is
// larger, and kernels that compute with the integers would not find them.
bool WidensIntegers(const Node& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_FOLD_H_
