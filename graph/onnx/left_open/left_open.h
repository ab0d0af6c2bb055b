// Recognizes results that the ONNX specification leaves undefined, so that engines may differ in
// them.
#ifndef LEMMA_GRAPH_ONNX_LEFT_OPEN_LEFT_OPEN_H_
#define LEMMA_GRAPH_ONNX_LEFT_OPEN_LEFT_OPEN_H_

#include <string>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// A reason why ONNX may not define the result of the operator `node` on these values of its
// operands, such as "two updates of one element"; "" if none is known. In doubt, the function gives
// a reason: for a product or power of integers that may exceed 31 bits, even in a type of 64 bits,
// and for a convolution with weights that are not finite, even without padding.
std::string LeftOpen(const Node& node, absl::Span<const Tensor> operands);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_LEFT_OPEN_LEFT_OPEN_H_
