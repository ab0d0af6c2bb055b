// Imports RNN, GRU, LSTM, and DynamicQuantizeLSTM of com.microsoft.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_RECURRENT_RECURRENT_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_RECURRENT_RECURRENT_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

// One importer for each of the four operators.
std::vector<OnnxImporter> RecurrentComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_RECURRENT_RECURRENT_H_
