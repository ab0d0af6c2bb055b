// Chooses how integers stand for the floats of a tensor, and rounds weights to them.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_NUMBERS_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "graph/tensor.h"

namespace lemma {

// An integer q of `type` stands for (q - zero) * scale.
struct QuantParams {
  DType type = DType::kU8;
  float scale = 1;
  int64_t zero = 0;

  // The least and largest floats that integers stand for.
  double low() const;
  double high() const;
};

// Integers of 8 bits for floats in [low, high], widened to hold 0, which is represented exactly.
// Symmetric: i8 with zero point 0 and without -128; otherwise u8. A range without width gets the
// scale 1, so that 0 stays 0.
QuantParams ParamsOfRange(double low, double high, bool symmetric);

// The float that stands for `x`: as QuantizeLinear and DequantizeLinear compute it in f32.
float Rounded(float x, const QuantParams& params);

// How weights become integers.
struct WeightOptions {
  // 8, or 7: then processors without VNNI, which add two products in 16 bits, cannot saturate. 4
  // and 8 for weights of which only the storage is narrow.
  int bits = 8;
  bool per_channel = true;  // a scale for each channel of the output, or one for the tensor
  bool symmetric = true;    // i8 with zero point 0; otherwise u8, one scale for the tensor
};

struct QuantizedWeight {
  Tensor integers;             // of the weight's shape
  std::vector<float> scales;   // one, or one for each channel
  std::vector<int64_t> zeros;  // as many
  int axis = -1;               // of the channels; -1: one scale for the tensor
  // The floats that the integers stand for, in row-major order.
  std::vector<float> Floats() const;
};

// `values` in row-major order. Each element is rounded to the nearest step, ties to even. `least`:
// for each channel, or empty, the least scale. ResourceExhausted if there is no memory.
absl::StatusOr<QuantizedWeight> QuantizeWeight(const Shape& shape,
                                               const std::vector<double>& values, int axis,
                                               const WeightOptions& options,
                                               const std::vector<double>& least = {});

// Position of an element's channel: for element i of a tensor of this shape, (i / inner) %
// channels.
struct ChannelStride {
  int64_t inner = 1, channels = 1;
  ChannelStride(const Shape& shape, int axis);
  int64_t Of(int64_t element) const { return element / inner % channels; }
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_NUMBERS_H_
