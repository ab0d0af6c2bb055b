// Rewrites nodes for a later operator set. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_RAISE_OPSET_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_RAISE_OPSET_H_

#include <string>

#include "graph/onnx/quantization/model_editor.h"

namespace lemma {

// Rewrites the nodes of the main graph that need another form in operator set `to` than in `from`.
// Returns "" if this succeeds. Otherwise stops at the first node, of the main graph or a subgraph,
// that cannot be rewritten, and returns a message: "Resize 'a' changes in operator set 11".
std::string RaiseNodes(int from, int to, ModelEditor* editor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_RAISE_OPSET_H_
