#include "graph/onnx/quantization/product_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma {
namespace {

// A bias is at most 2^30 steps: the sum of products has room for as much.
constexpr double kMostBias = 0x1p30;
// Smaller products of scales leave the bias in f32: its scale would not be a normal float.
constexpr double kLeastBiasScale = 0x1p-120;

absl::StatusOr<std::vector<double>> Numbers(const ModelIndex& index, const std::string& name) {
  LEMMA_ASSIGN_OR_RETURN(const Tensor tensor, index.Constant(name));
  if (tensor.IsFinite()) return tensor.ToDoubles();
  return absl::InvalidArgumentError(absl::StrCat("constant '", name, "' is not finite"));
}

// y = (x - mean) · gamma / sqrt(variance + epsilon) + beta, per channel, as part of the weight.
absl::Status FoldNorm(const ModelIndex& index, const onnx::NodeProto& norm, ProductWeights* made) {
  std::vector<double> constants[4];
  for (int i = 0; i < 4; ++i) {
    LEMMA_ASSIGN_OR_RETURN(constants[i], Numbers(index, norm.input(i + 1)));
  }
  const auto& [gamma, beta, mean, variance] = constants;
  const double epsilon = FloatAttribute(norm, "epsilon", 1e-5F);
  const ScaleIndex stride(made->shape, 0);
  std::vector<double> factors(gamma.size());
  made->bias.resize(gamma.size());
  for (size_t c = 0; c < gamma.size(); ++c) {
    factors[c] = gamma[c] / std::sqrt(variance[c] + epsilon);
    made->bias_magnitude = std::max(
        made->bias_magnitude,
        (std::abs(made->bias[c]) + std::abs(mean[c])) * std::abs(factors[c]) + std::abs(beta[c]));
    made->bias[c] = (made->bias[c] - mean[c]) * factors[c] + beta[c];
    if (std::isfinite(factors[c]) && std::isfinite(made->bias[c])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "node '", NameOf(norm), "' (BatchNormalization): channel ", c, " has no finite factor"));
  }
  for (size_t i = 0; i < made->weight.size(); ++i) {
    made->weight[i] *= factors[static_cast<size_t>(stride.Of(static_cast<int64_t>(i)))];
  }
  return absl::OkStatus();
}

void AddShift(const std::vector<double>& shift, ProductWeights* made) {
  made->bias.resize(shift.size());
  double most = 0;
  for (size_t c = 0; c < shift.size(); ++c) {
    made->bias[c] += shift[c];
    most = std::max(most, std::abs(shift[c]));
  }
  made->bias_magnitude += most;
}

// Removes the limits of channels, the last axis, with weights other than 0.
void KeepForZeros(const std::vector<double>& weights, std::vector<double>* least) {
  for (size_t i = 0; i < weights.size() && !least->empty(); ++i) {
    if (weights[i] != 0) (*least)[i % least->size()] = 0;
  }
}

// Whether the bias is at most kMostBias steps, up to the rounding of the scales.
bool BiasFits(double input_scale, const ProductWeights& made) {
  constexpr double kMost = kMostBias * (1 + 1e-6);
  const std::vector<float>& scales = made.quantized.scales;
  for (size_t c = 0; c < made.bias.size(); ++c) {
    const auto scale = static_cast<double>(scales.size() == 1 ? scales[0] : scales[c]);
    if (std::abs(made.bias[c]) > input_scale * scale * kMost) return false;
  }
  return true;
}

void QuantizeBias(double input_scale, ProductWeights* made) {
  const size_t channels = made->bias.size();
  for (const float scale : made->quantized.scales) {
    made->bias_scales.push_back(
        static_cast<double>(static_cast<float>(input_scale * static_cast<double>(scale))));
  }
  const auto& scales = made->bias_scales;
  if (*std::min_element(scales.begin(), scales.end()) < kLeastBiasScale) {
    made->bias_scales.clear();
    return;
  }
  for (size_t c = 0; c < channels; ++c) {
    const double scale = scales.size() == 1 ? scales[0] : scales[c];
    const double q = std::clamp(std::nearbyint(made->bias[c] / scale), -0x1p31, 0x1p31 - 1);
    made->bias_integers.push_back(static_cast<int32_t>(q));
  }
}

}  // namespace

double ProductWeights::bias_error() const {
  double largest = bias_magnitude * 0x1p-23;  // of a bias in f32
  for (size_t c = 0; c < bias_integers.size(); ++c) {
    const double scale = bias_scales.size() == 1 ? bias_scales[0] : bias_scales[c];
    largest = std::max(largest,
                       std::abs(bias_integers[c] * scale - bias[c]) + std::abs(bias[c]) * 0x1p-22);
  }
  return largest;
}

const QuantParams& ParamsOf(const std::vector<QuantizableOp>& ops, const QuantizationPlan& plan,
                            const std::string& value) {
  std::string name = value;
  for (size_t i = ops.size(); i-- > 0;) {  // operands come before their users
    if (!plan.chosen[i] || ops[i].role != QuantizedRole::kSelection) continue;
    if (ops[i].result == name) name = ops[i].reads[0];
  }
  return plan.values.at(name);
}

absl::StatusOr<ProductWeights> MakeProductWeights(const ModelIndex& index,
                                                  const std::vector<QuantizableOp>& ops,
                                                  const QuantizableOp& op,
                                                  const QuantizationPlan& plan) {
  ProductWeights made;
  if (op.weight.empty()) return made;
  made.shape = index.ConstantShape(op.weight);
  LEMMA_ASSIGN_OR_RETURN(made.weight, Numbers(index, op.weight));
  if (!op.bias.empty()) {
    LEMMA_ASSIGN_OR_RETURN(made.bias, Numbers(index, op.bias));
  }
  if (!op.added_bias.empty()) {
    LEMMA_ASSIGN_OR_RETURN(made.bias, Numbers(index, op.added_bias));
  }
  for (const double b : made.bias) made.bias_magnitude = std::max(made.bias_magnitude, std::abs(b));
  // In the other forms, the Add stays as it is.
  if (!op.added_bias.empty() && plan.form != QuantizationForm::kStatic) made.bias.clear();
  for (const int position : op.followers) {
    const onnx::NodeProto& node = index.graph().node(position);
    if (node.op_type() != "BatchNormalization") continue;
    LEMMA_RETURN_IF_ERROR(FoldNorm(index, node, &made));
  }
  const auto shift = plan.bias_shifts.find(op.result);
  // To a MatMul without a bias, a new Add adds the shift (bias_shift.h).
  const bool has_bias = op.type != "MatMul" || !made.bias.empty();
  if (shift != plan.bias_shifts.end() && has_bias) AddShift(shift->second, &made);
  if (plan.form == QuantizationForm::kFloats) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor weight,
                           Tensor::FromDoubles({DType::kF32, made.shape}, made.weight));
    LEMMA_ASSIGN_OR_RETURN(const Tensor rounded, RoundedTo(plan.float_format, weight));
    const absl::Span<const float> numbers = rounded.data<float>();
    made.rounded.assign(numbers.begin(), numbers.end());
    return made;
  }
  std::vector<double> least;
  double input_scale = 0;
  const bool rounds_bias = plan.form == QuantizationForm::kStatic && !made.bias.empty();
  const bool is_added = !op.added_bias.empty();
  if (rounds_bias) input_scale = static_cast<double>(ParamsOf(ops, plan, op.reads[0]).scale);
  if (rounds_bias && (!is_added || plan.weights.per_channel)) {
    for (const double b : made.bias) least.push_back(std::abs(b) / (input_scale * kMostBias));
  }
  // A large bias of a MatMul stays in the Add. Where all weights are 0, any scale is good for them.
  if (is_added) KeepForZeros(made.weight, &least);
  LEMMA_ASSIGN_OR_RETURN(made.quantized, QuantizeWeight(made.shape, made.weight, op.channel_axis,
                                                        plan.weights, least));
  made.rounded = made.quantized.Floats();
  if (rounds_bias && is_added && !BiasFits(input_scale, made)) {
    made.bias.clear();  // the Add stays as it is
  } else if (rounds_bias) {
    QuantizeBias(input_scale, &made);
  }
  return made;
}

}  // namespace lemma
