// Imports ONNX operators of transformers, such as Attention and
// com.microsoft.SkipLayerNormalization, as compositions of Lemma's.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

std::vector<OnnxImporter> TransformerComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_
