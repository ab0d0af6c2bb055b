// Importers of ONNX's quantization operators, as compositions of arithmetic and casts.
#ifndef LEMMA_GRAPH_OPS_QUANTIZE_H_
#define LEMMA_GRAPH_OPS_QUANTIZE_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
std::vector<OnnxImporter> QuantizationImporters();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_QUANTIZE_H_
