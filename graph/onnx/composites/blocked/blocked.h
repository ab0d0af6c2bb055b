// Imports the operators of the domain com.microsoft.nchwc, whose tensors have the layout NCHWc
// (layout.h). ONNX Runtime writes these operators when it saves a model that it optimized at its
// graph optimization level "all".
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

// One importer for each of these operators.
std::vector<OnnxImporter> BlockedComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_
