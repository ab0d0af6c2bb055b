// Imports ONNX operators whose results are known once shapes are known. They leave no node in the
// graph.
#ifndef LEMMA_GRAPH_ONNX_CONSTANT_OPS_H_
#define LEMMA_GRAPH_ONNX_CONSTANT_OPS_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma {

// The importers of Shape, Size, Range, Constant, ConstantOfShape, EyeLike, and of windows such as
// HannWindow.
const std::vector<OnnxImporter>& ConstantOps();

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_CONSTANT_OPS_H_
