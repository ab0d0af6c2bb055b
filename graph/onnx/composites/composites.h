// ONNX operators that are compositions of ours. Each list belongs to the operator it leans on most.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_COMPOSITES_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_COMPOSITES_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

// MeanVarianceNormalization, LpNormalization, GlobalLpPool.
std::vector<OnnxImporter> NormComposites();
// Einsum: a matmul where it is one.
OnnxImporter EinsumImporter();
// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
std::vector<OnnxImporter> LossComposites();

// Those that lean on no single operator.
// DFT, STFT.
std::vector<OnnxImporter> FourierComposites();
// RNN, GRU, LSTM.
std::vector<OnnxImporter> RecurrentComposites();
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, QLinearMatMul.
std::vector<OnnxImporter> QuantizedComposites();
// Adagrad, Momentum, Adam; their names carry the domain, ai.onnx.preview.training.
std::vector<OnnxImporter> OptimizerComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_COMPOSITES_H_
