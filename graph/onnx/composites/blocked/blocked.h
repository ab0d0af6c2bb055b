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

// The tensor of which x is the blocked form, and this tensor without channels that a pad appends.
// {} if x is no such form.
std::vector<Value> PlainForms(const Value& x, int64_t block);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_BLOCKED_H_
