// Imports ONNX operators of transformers, such as Attention and
// com.microsoft.SkipLayerNormalization, as compositions of Lemma's operators.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

// One importer for each of these operators. An operator name without a domain is of ONNX's default
// domain.
std::vector<OnnxImporter> TransformerComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_
