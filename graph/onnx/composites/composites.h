// Imports ONNX operators as compositions of Lemma's operators. Each function
// returns an importer or a list of importers, and is defined in the file of
// this folder that has these importers, such as norms.cc. Unless stated
// otherwise, the importers are registered in OpDef::onnx_import of the Lemma
// operator that they use most.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_COMPOSITES_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_COMPOSITES_H_

#include <vector>

#include "graph/op_def.h"

namespace lemma::ops {

// MeanVarianceNormalization, LpNormalization, GlobalLpPool.
std::vector<OnnxImporter> NormComposites();
// Einsum; becomes a matmul where possible.
OnnxImporter EinsumImporter();
// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
std::vector<OnnxImporter> LossComposites();

// The lists below belong to no operator of Lemma; graph/onnx/import_nodes.cc registers them.

// DFT, STFT.
std::vector<OnnxImporter> FourierComposites();
// QuantizeLinear, DequantizeLinear (also of com.microsoft), DynamicQuantizeLinear.
std::vector<OnnxImporter> QuantizedComposites();
// QLinearMatMul; QGemm, MatMulNBits and others of com.microsoft.
std::vector<OnnxImporter> QuantizedProducts();
// QLinearAdd, QLinearConcat and others of com.microsoft.
std::vector<OnnxImporter> QuantizedElementwise();
// GridSample, AffineGrid, DeformConv.
std::vector<OnnxImporter> SamplingComposites();
// RoiAlign, MaxRoiPool.
std::vector<OnnxImporter> RegionComposites();
// CenterCropPad, Col2Im.
std::vector<OnnxImporter> LayoutComposites();
// NonZero, Unique, NonMaxSuppression, ImageDecoder and MelWeightMatrix, if their operands are
// constants.
std::vector<OnnxImporter> ConstantComposites();
// Det.
std::vector<OnnxImporter> DeterminantComposites();
// BitwiseNot, BitwiseOr, BitwiseXor, BitShift, BitCast.
std::vector<OnnxImporter> BitComposites();
// Adagrad, Momentum, Adam. Their names include the domain, ai.onnx.preview.training.
std::vector<OnnxImporter> OptimizerComposites();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_COMPOSITES_H_
