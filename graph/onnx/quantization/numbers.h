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

// 8-bit integers for floats in [low, high], widened to include 0, which is represented exactly.
// Symmetric: i8 with zero point 0 and without -128; otherwise u8. If the scale would be below
// 2^-100, it is 1 and the zero point 0.
QuantParams ParamsOfRange(double low, double high, bool symmetric);

// `x` rounded to a float that an integer stands for, as QuantizeLinear and then DequantizeLinear
// compute it in f32.
float Rounded(float x, const QuantParams& params);

// How weights become integers.
struct WeightOptions {
  // Of an integer. 8 or 7 in the static and dynamic forms: with 7, processors without VNNI, which
  // add two products in 16 bits, cannot saturate. 8 or 4 in the form kWeights.
  int bits = 8;
  bool per_channel = true;  // a scale for each channel of the output, or one for the tensor
  bool symmetric = true;    // i8 with zero point 0; otherwise u8, one scale for the tensor
  // For a matrix: the number of consecutive weights of a channel that share a scale; 0: all of the
  // channel.
  int64_t block = 0;
};

struct QuantizedWeight {
  Tensor integers;             // of the weight's shape; u8 or i8, also if `bits` is below 8
  std::vector<float> scales;   // one, one for each channel, or one for each block of each channel
  std::vector<int64_t> zeros;  // by scale: its zero point
  int axis = -1;               // of the channels; -1: one scale for the tensor
  int64_t block = 0;
  // The floats that the integers stand for, in row-major order.
  std::vector<float> Floats() const;
};

// Quantizes a weight whose `values` are in row-major order; `axis` is that of the channels. Rounds
// each element to the nearest integer, ties to even. `least`: the least scale for each channel;
// empty: no limit. ResourceExhausted if there is no memory.
absl::StatusOr<QuantizedWeight> QuantizeWeight(const Shape& shape,
                                               const std::vector<double>& values, int axis,
                                               const WeightOptions& options,
                                               const std::vector<double>& least = {});

// Finds the number of an element's scale from the element's position in row-major order.
class ScaleIndex {
 public:
  // `axis`: of the channels, or -1. `block`: as in WeightOptions.
  ScaleIndex(const Shape& shape, int axis, int64_t block = 0);
  int64_t count() const { return channels_ * blocks_; }  // of scales
  int64_t Of(int64_t element) const {
    const int64_t channel = element / inner_ % channels_;
    return blocks_ == 1 ? channel : channel * blocks_ + element / other_inner_ % other_ / block_;
  }

 private:
  int64_t inner_ = 1, channels_ = 1;
  int64_t other_inner_ = 1, other_ = 1, block_ = 1, blocks_ = 1;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_NUMBERS_H_
