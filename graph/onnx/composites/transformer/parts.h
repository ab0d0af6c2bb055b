// Lists of importers for operators of transformers. TransformerComposites()
// (transformer.h) joins them to one list. Each function is defined in the file
// of this folder that has these importers, such as attention.cc.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_PARTS_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_PARTS_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

// Attention, TensorScatter.
std::vector<OnnxImporter> AttentionComposites();
// LinearAttention, CausalConvWithState.
std::vector<OnnxImporter> LinearAttentionComposites();
// RotaryEmbedding, of the default domain and of com.microsoft.
std::vector<OnnxImporter> RotaryComposites();
// RMSNormalization, GroupNormalization; SimplifiedLayerNormalization, of the default domain and of
// com.microsoft.
std::vector<OnnxImporter> TransformerNormComposites();
// Gelu, Swish, SwiGLU; of com.microsoft: Gelu, BiasGelu, FastGelu, QuickGelu.
std::vector<OnnxImporter> GatedActivations();

// The operators below are of domain com.microsoft.

// Attention, QAttention, MultiHeadAttention.
std::vector<OnnxImporter> ContribAttentionComposites();
// GroupQueryAttention.
std::vector<OnnxImporter> GroupedAttentionComposites();
// SkipLayerNormalization, SkipSimplifiedLayerNormalization, EmbedLayerNormalization.
std::vector<OnnxImporter> ContribNormComposites();
// FusedMatMul.
std::vector<OnnxImporter> FusedProducts();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_PARTS_H_
