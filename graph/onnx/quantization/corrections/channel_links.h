// Finds the places where a positive scale of each channel can move from the constants that make a
// value to the weights of the products that read it. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_CHANNEL_LINKS_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_CHANNEL_LINKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/onnx/quantization/corrections/channel_scales.h"
#include "graph/onnx/quantization/model_index.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// If the constants of `makers` are divided by numbers above 0, a number for each channel, and the
// weights of `readers` are multiplied by the same numbers, the model computes the same over the
// real numbers. data/rules/equalization.txt has the identities.
struct ChannelLink {
  std::string value;  // what the products read
  int64_t channels = 0;
  std::vector<ScaledOperand> makers, readers;
  // Of EqualizableLinks: the weight of the product that makes the value, and the first operand of
  // the BatchNormalization behind it, if any, with the name of its variance.
  ScaledOperand weight;
  std::optional<ScaledOperand> norm_scale;
  std::string norm_variance;
  double norm_epsilon = 0;
};

// The constant vector that the node reads, if the node is an Add or Mul (`type`) of ONNX and one of
// its operands is a constant of f32 whose last axis has `channels` elements.
std::optional<ScaledOperand> VectorOperand(const ModelIndex& index, const std::string& type,
                                           int position, int64_t channels);

// Pairs of products with constant weights: the result of the first reaches only the second, through
// operators that keep a positive scale of each channel. allowed[i] says whether the link may use
// operators[i].
std::vector<ChannelLink> EqualizableLinks(const ModelIndex& index,
                                          const std::vector<QuantizableOp>& operators,
                                          const std::vector<bool>& allowed);

// Values that only MatMul and Gemm with constant weights read, as left operand, and that a
// LayerNormalization makes, or a Mul by a constant vector, a MatMul or a Gemm, each also with an
// Add of a constant vector behind it.
std::vector<ChannelLink> SmoothableLinks(const ModelIndex& index,
                                         const std::vector<QuantizableOp>& operators,
                                         const std::vector<bool>& allowed);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_CHANNEL_LINKS_H_
