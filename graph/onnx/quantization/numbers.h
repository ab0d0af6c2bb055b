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
  // Of a matrix: so many weights of a channel, one after another along the other axis, share a
  // scale; 0: all.
  int64_t block = 0;
};

struct QuantizedWeight {
  Tensor integers;             // of the weight's shape
  std::vector<float> scales;   // one, one for each channel, or one for each block of each channel
  std::vector<int64_t> zeros;  // as many
  int axis = -1;               // of the channels; -1: one scale for the tensor
  int64_t block = 0;
  // The floats that the integers stand for, in row-major order.
  std::vector<float> Floats() const;
};

// `values` in row-major order. Each element is rounded to the nearest step, ties to even. `least`:
// for each channel, or empty, the least scale. ResourceExhausted if there is no memory.
absl::StatusOr<QuantizedWeight> QuantizeWeight(const Shape& shape,
                                               const std::vector<double>& values, int axis,
                                               const WeightOptions& options,
                                               const std::vector<double>& least = {});

// Which scale an element of a tensor has, by its position in row-major order.
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
