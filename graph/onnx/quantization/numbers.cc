#include "graph/onnx/quantization/numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/onnx/fold.h"

namespace lemma {
namespace {

// Narrower ranges count as the point 0: their scales would not be normal floats.
constexpr double kLeastScale = 0x1p-100;

std::pair<int64_t, int64_t> Limits(DType type) {
  return type == DType::kU8 ? std::pair<int64_t, int64_t>(0, 255)
                            : std::pair<int64_t, int64_t>(-128, 127);
}

// The scale of one channel of weights whose elements lie in [low, high].
float ScaleOf(double low, double high, const WeightOptions& options, double least) {
  const double steps = std::ldexp(1.0, options.bits - (options.symmetric ? 1 : 0)) - 1;
  const double width = options.symmetric ? std::max(-low, high) : high - low;
  const double scale = std::max(width / steps, least);
  return scale < kLeastScale ? 1.0F : static_cast<float>(scale);
}

constexpr FloatFormat kFloatFormats[] = {FloatFormat::kBf16, FloatFormat::kF16, FloatFormat::kTf32};

}  // namespace

const char* Name(FloatFormat format) {
  static constexpr const char* kNames[] = {"bf16", "f16", "tf32"};
  return kNames[static_cast<int>(format)];
}

std::optional<FloatFormat> ParseFloatFormat(absl::string_view name) {
  for (const FloatFormat format : kFloatFormats) {
    if (Name(format) == name) return format;
  }
  return std::nullopt;
}

double LeastInfinite(FloatFormat format) {
  // Halfway from the greatest number to the one that would follow.
  static constexpr double kLeast[] = {0x1.ffp127, 65520, 0x1.ffep127};
  return kLeast[static_cast<int>(format)];
}

absl::StatusOr<Tensor> RoundedTo(FloatFormat format, const Tensor& tensor) {
  const Value x(Node::Constant(tensor), 0);
  LEMMA_ASSIGN_OR_RETURN(const Value y, format == FloatFormat::kTf32
                                            ? Apply1("round_tf32", {x})
                                            : Apply1("cast", {x}, {{"dtype", Name(format)}}));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> rounded, FoldNode(y.node(), {{tensor}}));
  if (y.dtype() == DType::kF32) return rounded[0];
  return Tensor::FromDoubles(tensor.type(), rounded[0].ToDoubles());
}

double QuantParams::low() const {
  return static_cast<double>(scale) * static_cast<double>(Limits(type).first - zero);
}

double QuantParams::high() const {
  return static_cast<double>(scale) * static_cast<double>(Limits(type).second - zero);
}

QuantParams ParamsOfRange(double low, double high, bool symmetric) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  QuantParams params;
  params.type = symmetric ? DType::kI8 : DType::kU8;
  const double scale = symmetric ? std::max(-low, high) / 127 : (high - low) / 255;
  if (scale < kLeastScale) return params;
  params.scale = static_cast<float>(scale);
  if (!symmetric) {
    params.zero =
        std::clamp<int64_t>(std::llrint(-low / static_cast<double>(params.scale)), 0, 255);
  }
  return params;
}

float Rounded(float x, const QuantParams& params) {
  const auto [low, high] = Limits(params.type);
  const double q = std::nearbyint(x / params.scale) + static_cast<double>(params.zero);
  const double integer = std::clamp(q, static_cast<double>(low), static_cast<double>(high));
  return static_cast<float>(integer - static_cast<double>(params.zero)) * params.scale;
}

ScaleIndex::ScaleIndex(const Shape& shape, int axis, int64_t block) {
  if (axis < 0) {
    inner_ = std::max<int64_t>(1, NumElements(shape));
    return;
  }
  const auto at = static_cast<size_t>(axis);
  channels_ = std::max<int64_t>(1, shape[at]);
  for (size_t i = at + 1; i < shape.size(); ++i) inner_ *= shape[i];
  inner_ = std::max<int64_t>(1, inner_);
  if (block == 0 || shape.size() != 2) return;
  other_ = std::max<int64_t>(1, shape[1 - at]);
  other_inner_ = axis == 0 ? 1 : channels_;
  block_ = block;
  blocks_ = (other_ + block - 1) / block;
}

absl::StatusOr<QuantizedWeight> QuantizeWeight(const Shape& shape,
                                               const std::vector<double>& values, int axis,
                                               const WeightOptions& options,
                                               const std::vector<double>& least) {
  QuantizedWeight result;
  result.axis = options.per_channel ? axis : -1;
  result.block = options.block;
  const ScaleIndex stride(shape, result.axis, result.block);
  const auto channels = static_cast<size_t>(stride.count());
  std::vector<double> low(channels), high(channels);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto c = static_cast<size_t>(stride.Of(static_cast<int64_t>(i)));
    low[c] = std::min(low[c], values[i]);
    high[c] = std::max(high[c], values[i]);
  }
  for (size_t c = 0; c < channels; ++c) {
    double at_least = least.size() == channels ? least[c] : 0;
    if (channels == 1) {
      for (const double scale : least) at_least = std::max(at_least, scale);
    }
    const float scale = ScaleOf(low[c], high[c], options, at_least);
    result.scales.push_back(scale);
    result.zeros.push_back(options.symmetric ? 0
                                             : std::llrint(-low[c] / static_cast<double>(scale)));
  }
  const int64_t most = (int64_t{1} << (options.symmetric ? options.bits - 1 : options.bits)) - 1;
  const int64_t lowest = options.symmetric ? -most : 0;
  std::vector<int64_t> integers;
  integers.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto c = static_cast<size_t>(stride.Of(static_cast<int64_t>(i)));
    const double q = std::nearbyint(values[i] / static_cast<double>(result.scales[c]));
    integers.push_back(
        std::clamp<int64_t>(static_cast<int64_t>(q) + result.zeros[c], lowest, most));
  }
  auto tensor = Tensor::FromInts({options.symmetric ? DType::kI8 : DType::kU8, shape}, integers);
  if (!tensor.ok()) return tensor.status();
  result.integers = *std::move(tensor);
  return result;
}

std::vector<float> QuantizedWeight::Floats() const {
  const ScaleIndex stride(integers.shape(), axis, block);
  std::vector<float> floats;
  floats.reserve(static_cast<size_t>(integers.size()));
  for (int64_t i = 0; i < integers.size(); ++i) {
    const auto c = static_cast<size_t>(stride.Of(i));
    floats.push_back(static_cast<float>(integers.AtInt(i) - zeros[c]) * scales[c]);
  }
  return floats;
}

}  // namespace lemma
