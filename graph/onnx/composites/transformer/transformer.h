// Imports ONNX operators of transformers as compositions of Lemma's. Names of other domains include
// the domain.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

std::vector<OnnxImporter> TransformerComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_TRANSFORMER_H_
