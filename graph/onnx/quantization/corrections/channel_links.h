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
  std::string value;  // the value that the products read
  int64_t channels = 0;
  std::vector<ScaledOperand> makers, readers;
  // Only EqualizableLinks sets the following fields: the weight of the product that makes the
  // value; the scale (operand 1) of the BatchNormalization behind this product, if there is one;
  // and the name of this BatchNormalization's variance, and its epsilon.
  ScaledOperand weight;
  std::optional<ScaledOperand> norm_scale;
  std::string norm_variance;
  double norm_epsilon = 0;
};

// The constant operand, if the node is an Add or Mul (`type`) of ONNX with two operands and no
// attributes, and one of them is an f32 constant whose last axis has `channels` elements.
std::optional<ScaledOperand> VectorOperand(const ModelIndex& index, const std::string& type,
                                           int position, int64_t channels);

// Links between two products with constant weights: the result of the first product reaches only
// the second, through operators with f(s * x) = s * f(x) for a positive scale s of each channel.
// allowed[i]: whether a link may use operators[i].
std::vector<ChannelLink> EqualizableLinks(const ModelIndex& index,
                                          const std::vector<QuantizableOp>& operators,
                                          const std::vector<bool>& allowed);

// Links at the values that only MatMul and Gemm with constant weights read, as left operand. A
// LayerNormalization, a Mul by a constant, a MatMul or a Gemm makes such a value; between the maker
// and the value there may be an Add of a constant, and then Relu, LeakyRelu or Identity.
// `allowed`: as in EqualizableLinks.
std::vector<ChannelLink> SmoothableLinks(const ModelIndex& index,
                                         const std::vector<QuantizableOp>& operators,
                                         const std::vector<bool>& allowed);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_CHANNEL_LINKS_H_
