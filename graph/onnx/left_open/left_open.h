// Recognizes results that the ONNX specification leaves undefined, so that engines may differ in
// them.
#ifndef LEMMA_GRAPH_ONNX_LEFT_OPEN_LEFT_OPEN_H_
#define LEMMA_GRAPH_ONNX_LEFT_OPEN_LEFT_OPEN_H_

#include <string>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// The reason why ONNX does not define the result of the operator `node` on these values of its
// operands, such as "two updates of one element"; "" if no such reason is known.
std::string LeftOpen(const Node& node, absl::Span<const Tensor> operands);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_LEFT_OPEN_LEFT_OPEN_H_
