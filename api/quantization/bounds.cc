// Bounds of each operator's error: for all operands in the ranges that calibration saw, and for the
// operands of the samples.
#include <algorithm>
#include <cmath>

#include "api/quantization/quantizer.h"
#include "base/status_macros.h"
#include "kernels/codegen/product_precision.h"

namespace lemma::api {
namespace {

// The products of a sum are rounded one after another, in the model in f32 and in the quantized
// one.
constexpr double kRounding = 0x1p-23;
constexpr int64_t kMoreRoundings = 64;  // of a bias, a normalization, conversions
// On tensor cores, products of 16-bit floats lose at most 3 * 2^-23 in each addition
// (kernels/codegen/product_precision.cc); the rest is for the model in f32.
constexpr double kTensorRounding = 0x1p-21;
constexpr float kLeastNormal = 0x1p-126F;

// A tensor of f(i) at each element.
template <class F>
absl::StatusOr<Tensor> Elements(const TensorType& type, const F& f) {
  LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type));
  absl::Span<float> data = tensor.mutable_data<float>();
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(f(i));
  return tensor;
}

double Largest(const Tensor& tensor) {
  double largest = 0;
  for (const float x : tensor.data<float>()) {
    largest = std::max(largest, std::abs(static_cast<double>(x)));
  }
  return largest;
}

// An operand of a product: magnitudes of its floats, of those that stand for them, and of the
// differences. Rounded up, since f32 may be below the double.
struct Operand {
  Tensor exact, rounded, error;
};

// As DynamicQuantizeLinear computes them, in f32.
QuantParams DynamicParams(absl::Span<const float> x) {
  float low = 0, high = 0;
  for (const float number : x) {
    low = std::min(low, number);
    high = std::max(high, number);
  }
  QuantParams params;
  const float scale = (high - low) / 255;
  if (scale == 0) return params;
  params.scale = scale;
  params.zero = std::clamp<int64_t>(std::llrint(-low / scale), 0, 255);
  return params;
}

template <class Exact, class Rounded>
absl::StatusOr<Operand> MakeOperand(const Shape& shape, const Exact& exact,
                                    const Rounded& rounded) {
  const TensorType type{DType::kF32, shape};
  const double up = 1 + 0x1p-22;
  Operand operand;
  LEMMA_ASSIGN_OR_RETURN(operand.exact,
                         Elements(type, [&](size_t i) { return std::abs(exact[i]) * up; }));
  LEMMA_ASSIGN_OR_RETURN(operand.rounded,
                         Elements(type, [&](size_t i) { return std::abs(rounded[i]) * up; }));
  LEMMA_ASSIGN_OR_RETURN(operand.error, Elements(type, [&](size_t i) {
                           return std::abs(static_cast<double>(rounded[i]) - exact[i]) * up;
                         }));
  return operand;
}

// How many numbers an element of the result is the sum of, at most.
int64_t TermsOf(const QuantizableOp& op, const ProductWeights& weights, const Tensor& operand,
                const Tensor& result) {
  if (op.role != QuantizedRole::kProduct) {
    return std::max<int64_t>(1, operand.size() / std::max<int64_t>(1, result.size()));
  }
  if (op.weight.empty()) return operand.shape().back();
  const ScaleIndex channels(weights.shape, op.channel_axis);
  return NumElements(weights.shape) / channels.count();
}

bool HaveSameShapes(const std::vector<Sample>& samples) {
  return std::all_of(samples.begin(), samples.end(), [&](const Sample& sample) {
    return std::equal(sample.begin(), sample.end(), samples[0].begin(), samples[0].end(),
                      [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); });
  });
}

double UnitOf(FloatFormat format) {
  switch (format) {
    case FloatFormat::kBf16:
      return codegen::UnitRoundoff(codegen::ProductPrecision::kBf16);
    case FloatFormat::kF16:
      return codegen::UnitRoundoff(codegen::ProductPrecision::kF16);
    case FloatFormat::kTf32:
      return codegen::UnitRoundoff(codegen::ProductPrecision::kTf32);
  }
  return 1;
}

}  // namespace

// Instructions for bf16 take subnormal numbers as 0. Those for TF32 might.
bool Quantizer::FlushesSubnormals() const {
  return Format() == FloatFormat::kBf16 || Format() == FloatFormat::kTf32;
}

double Quantizer::RoundingOf(const std::string& value) const {
  const ValueHistogram& seen = histograms_.at(value);
  if (HasFloatForm()) {
    const double subnormal = FlushesSubnormals() ? kLeastNormal : 0x1p-25;
    return std::max(-seen.low, seen.high) * UnitOf(*Format()) + subnormal;
  }
  // A range found in a run is inside the one that calibration saw, and its ends may be half a step
  // outside of what integers stand for.
  if (options_.form == "dynamic") {
    return (seen.high - seen.low) / 255 + std::max(-seen.low, seen.high) * kRounding;
  }
  const QuantParams& params = params_.at(value);
  const double step = static_cast<double>(params.scale);
  const double rounded = std::max({step / 2, params.low() - seen.low, seen.high - params.high()});
  return rounded + std::max(-seen.low, seen.high) * kRounding;
}

// Of weights alone, operands keep their values.
double Quantizer::OperandError(const std::string& value) const {
  return options_.form == "weights" ? 0 : RoundingOf(value);
}

absl::StatusOr<std::vector<float>> Quantizer::RoundedValue(const std::string& name,
                                                           const Tensor& tensor) const {
  const absl::Span<const float> x = tensor.data<float>();
  std::vector<float> rounded(x.begin(), x.end());
  if (options_.form == "weights") return rounded;
  if (HasFloatForm()) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor numbers, RoundedTo(*Format(), tensor));
    rounded.assign(numbers.data<float>().begin(), numbers.data<float>().end());
    for (float& number : rounded) {
      if (FlushesSubnormals() && std::abs(number) < kLeastNormal) number = 0;
    }
    return rounded;
  }
  QuantParams params = params_.at(name);
  if (options_.form == "dynamic") {
    params = DynamicParams(x);
  }
  for (float& number : rounded) number = Rounded(number, params);
  return rounded;
}

// Products and sums may become 0 if they are subnormal.
double Quantizer::Flushed(int64_t terms) const {
  return FlushesSubnormals() ? static_cast<double>(2 * terms) * kLeastNormal : 0;
}

// ŵ·x̂ - w·x = ŵ·(x̂ - x) + (ŵ - w)·x: the operator itself computes the sums of the magnitudes.
absl::Status Quantizer::BoundForInputs(size_t number, const ProductWeights& weights,
                                       int64_t terms) {
  const QuantizableOp& op = ops()[number];
  double largest = 0;
  for (const auto& values : values_) {
    std::vector<Operand> operands;
    for (const std::string& name : op.reads) {
      const Tensor& x = values.at(name);
      LEMMA_ASSIGN_OR_RETURN(const std::vector<float> rounded, RoundedValue(name, x));
      LEMMA_ASSIGN_OR_RETURN(Operand operand, MakeOperand(x.shape(), x.data<float>(), rounded));
      operands.push_back(std::move(operand));
    }
    if (!op.weight.empty()) {
      LEMMA_ASSIGN_OR_RETURN(Operand operand,
                             MakeOperand(weights.shape, weights.weight, weights.rounded));
      operands.insert(operands.begin() + op.weight_operand, std::move(operand));
    }
    LEMMA_ASSIGN_OR_RETURN(const ImportedModel product,
                           model_.ImportProduct(static_cast<int>(number), operands[0].exact.type(),
                                                operands[1].exact.type()));
    LEMMA_ASSIGN_OR_RETURN(const auto backend, MakeBackend(options_.execution));
    LEMMA_ASSIGN_OR_RETURN(const auto executable,
                           backend->Compile(product.graph, CompileOptionsOf(options_.execution)));
    const Operand &a = operands[0], &b = operands[1];
    LEMMA_ASSIGN_OR_RETURN(const auto first, executable->Run({{a.error, b.rounded}}));
    LEMMA_ASSIGN_OR_RETURN(const auto second, executable->Run({{a.exact, b.error}}));
    LEMMA_ASSIGN_OR_RETURN(const auto sum, executable->Run({{a.rounded, b.rounded}}));
    for (int64_t i = 0; i < sum[0].size(); ++i) {
      const double roundings = static_cast<double>(terms + kMoreRoundings) *
                               (HasFloatForm() ? kTensorRounding : kRounding);
      const double error = first[0].AtDouble(i) + second[0].AtDouble(i);
      const double here = error * (1 + roundings) +
                          (sum[0].AtDouble(i) + error + weights.bias_magnitude) * roundings +
                          Flushed(terms);
      largest = std::max(largest, here);
    }
  }
  errors_[number].for_inputs = largest + weights.bias_error();
  return absl::OkStatus();
}

absl::Status Quantizer::KeepValues() {
  std::set<std::string> names;
  for (size_t i = 0; i < ops().size(); ++i) {
    if (!chosen_[i]) continue;
    names.insert(ops()[i].reads.begin(), ops()[i].reads.end());
    names.insert(ops()[i].result);
  }
  SampleRunner runner(
      [&](const ImportOptions& import) {
        return model_.Import({names.begin(), names.end()}, import);
      },
      options_.execution, options_.dims);
  for (size_t s = 0; s < std::min(calibration_, kComparedSamples); ++s) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("executing the model in f32"));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner.Run(samples_[s]));
    values_.emplace_back();
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_.back().emplace(runner.graph().output_names()[i], outputs[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status Quantizer::FindBounds() {
  const QuantizationPlan plan = PlanFor(chosen_);
  const std::set<std::string> written =
      plan.form == QuantizationForm::kStatic ? model_.WrittenBy(chosen_) : std::set<std::string>();
  for (size_t i = 0; i < ops().size(); ++i) {
    if (!chosen_[i]) continue;
    LEMMA_RETURN_IF_ERROR(ReportProgress("finding bounds"));
    const QuantizableOp& op = ops()[i];
    OperatorErrors& errors = errors_[i];
    errors.exact = op.role == QuantizedRole::kSelection;
    for (const auto& values : values_) {
      errors.magnitude = std::max(errors.magnitude, Largest(values.at(op.result)));
    }
    if (errors.exact) continue;
    std::vector<double> magnitudes, operand_errors;
    for (const std::string& value : op.reads) {
      const ValueHistogram& seen = histograms_.at(value);
      magnitudes.push_back(std::max(-seen.low, seen.high));
      operand_errors.push_back(OperandError(value));
    }
    LEMMA_ASSIGN_OR_RETURN(const ProductWeights weights,
                           model_.WeightsOf(static_cast<int>(i), plan));
    // The number of terms is that of the first sample.
    const bool fixed_terms = op.role == QuantizedRole::kProduct && !op.weight.empty();
    if (!fixed_terms && !HaveSameShapes(samples_)) continue;
    const int64_t terms =
        TermsOf(op, weights, values_[0].at(op.reads[0]), values_[0].at(op.result));
    errors.bound =
        model_.ErrorBound(static_cast<int>(i), magnitudes, operand_errors, weights, terms);
    if (!errors.bound) continue;
    // What is summed up is rounded in f32, and so is the result.
    double sum = errors.magnitude;
    if (op.role == QuantizedRole::kProduct) {
      sum = model_.LargestSum(static_cast<int>(i), magnitudes, weights, terms) +
            weights.bias_magnitude;
    }
    *errors.bound += sum * (HasFloatForm() ? kTensorRounding : kRounding) *
                         static_cast<double>(terms + kMoreRoundings) +
                     Flushed(terms);
    const double rounding = written.count(op.result) > 0 ? RoundingOf(op.result) : 0;
    // The bounds are about the bias in `weights`, which may be a corrected one.
    const double shift = LargestShift(i) * (1 + kMoreRoundings * kRounding);
    *errors.bound += rounding + shift;
    if (op.role == QuantizedRole::kProduct) {
      LEMMA_RETURN_IF_ERROR(BoundForInputs(i, weights, terms));
      *errors.for_inputs += rounding + shift;
    }
  }
  return absl::OkStatus();
}

}  // namespace lemma::api
