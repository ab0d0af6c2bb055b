// Imports the operators of com.microsoft.nchwc. ONNX Runtime writes them when it saves a model that
// it optimized at its graph optimization level "all".
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

std::vector<OnnxImporter> BlockedComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_
