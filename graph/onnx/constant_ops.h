// Imports ONNX operators whose results follow from attributes, shapes and constant inputs. The
// result is a constant; if it depends on symbolic sizes, operators such as `sizes`, `iota` or
// `expand` compute it.
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
