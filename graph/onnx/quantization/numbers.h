// Chooses the integers that stand for the floats of a tensor, and rounds weights to such integers.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_NUMBERS_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/dtype.h"
#include "graph/tensor.h"

namespace lemma {

// An integer q of `type` (u8 or i8) stands for the float (q - zero) * scale.
struct QuantParams {
  DType type = DType::kU8;
  float scale = 1;
  int64_t zero = 0;

  // The least and the greatest float that an integer of `type` stands for.
  double low() const;
  double high() const;
};

// Parameters of 8-bit integers for the floats in [low, high]. The range is widened to include 0, so
// that an integer stands for exactly 0. If `symmetric`, the type is i8 with zero point 0, and the
// integers from -127 to 127 cover the range; otherwise the type is u8. A scale below 2^-100 becomes
// 1, with zero point 0.
QuantParams ParamsOfRange(double low, double high, bool symmetric);

// The nearest float to `x` that an integer stands for, as QuantizeLinear and then DequantizeLinear
// compute it in f32.
float Rounded(float x, const QuantParams& params);

// The floats to which products round their operands. kTf32: f32 numbers with a significand of 11
// bits (the operator round_tf32).
enum class FloatFormat { kBf16, kF16, kTf32 };
const char* Name(FloatFormat format);  // "bf16", "f16", "tf32"
// nullopt if no format has this name.
std::optional<FloatFormat> ParseFloatFormat(absl::string_view name);
// The least number that is rounded to infinity.
double LeastInfinite(FloatFormat format);
// `tensor`, which must be f32, with its elements rounded to `format`. The result is f32 too.
// ResourceExhausted if there is no memory.
absl::StatusOr<Tensor> RoundedTo(FloatFormat format, const Tensor& tensor);

// How weights become integers.
struct WeightOptions {
  // The bits of an integer: 8 or 7; if `block` is not 0, 8 or 4. Processors without VNNI add two
  // products in 16 bits; with 7 bits, these sums cannot saturate.
  int bits = 8;
  bool per_channel = true;  // one scale for each output channel; false: one for the tensor
  bool symmetric = true;    // i8 with zero point 0; false: u8, used with one scale for the tensor
  // For a matrix: the number of consecutive weights of a channel that share a scale; 0: all weights
  // of the channel share one.
  int64_t block = 0;
};

struct QuantizedWeight {
  Tensor integers;             // of the weight's shape; u8 or i8, also if `bits` is below 8
  std::vector<float> scales;   // one, one for each channel, or one for each block of each channel
  std::vector<int64_t> zeros;  // the zero point of each scale
  int axis = -1;               // the axis of the channels; -1: one scale for the tensor
  int64_t block = 0;           // as in WeightOptions
  // The floats that the integers stand for, in row-major order.
  std::vector<float> Floats() const;
};

// Quantizes a weight. `values`: its elements in row-major order, which must be finite. `axis`: the
// axis of its channels; -1: one scale for the tensor. Divides each element by its scale and rounds
// the quotient to the nearest integer, ties to even. `least`: a lower limit on the scale of each
// channel; if there is one scale, the greatest of these limits holds; empty: no limit.
// ResourceExhausted if there is no memory.
absl::StatusOr<QuantizedWeight> QuantizeWeight(const Shape& shape,
                                               const std::vector<double>& values, int axis,
                                               const WeightOptions& options,
                                               const std::vector<double>& least = {});

// Finds the scale of an element of a weight.
class ScaleIndex {
 public:
  // `axis`: the axis of the channels; -1: one scale for the tensor. `block`: as in WeightOptions.
  ScaleIndex(const Shape& shape, int axis, int64_t block = 0);
  int64_t count() const { return channels_ * blocks_; }  // the number of scales
  // The index, in QuantizedWeight::scales, of the scale of the element at this row-major position.
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
