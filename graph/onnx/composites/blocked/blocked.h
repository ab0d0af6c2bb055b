// Imports the operators of the domain com.microsoft.nchwc, whose tensors have the layout NCHWc
// (layout.h). ONNX Runtime writes these operators when it saves a model that it optimized at its
// graph optimization level "all".
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace lemma::ops {

// One importer for each of these operators.
std::vector<OnnxImporter> BlockedComposites();

// {y} if x is the blocked form of y, with blocks of `block` channels; {y, z} if
// y is the result of a pad of z; {} if x is not a blocked form. Defined in
// layout.cc.
std::vector<Value> PlainForms(const Value& x, int64_t block);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_
