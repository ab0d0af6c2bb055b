#include "graph/onnx/composites/transformer/transformer.h"

#include "graph/onnx/composites/transformer/parts.h"

namespace lemma::ops {

std::vector<OnnxImporter> TransformerComposites() {
  std::vector<OnnxImporter> all;
  for (auto* part : {AttentionComposites, LinearAttentionComposites, RotaryComposites,
                     TransformerNormComposites, GatedActivations, ContribAttentionComposites,
                     GroupedAttentionComposites, ContribNormComposites, FusedProducts}) {
    for (OnnxImporter& importer : part()) all.push_back(std::move(importer));
  }
  return all;
}

}  // namespace lemma::ops
