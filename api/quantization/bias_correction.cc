// Corrects biases by the mean error of each channel on the samples for calibration.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "api/quantization/quantizer.h"
#include "base/status_macros.h"

namespace lemma::api {
namespace {

// Sums of the elements of each channel.
struct ChannelSums {
  std::vector<double> sums;
  int64_t count = 0;  // of the elements of a channel

  // False if the tensor has no such channels, or another number of them than earlier ones.
  bool Add(const Tensor& tensor, size_t axis) {
    const Shape& shape = tensor.shape();
    if (shape.size() <= axis || shape[axis] == 0) return false;
    const auto channels = static_cast<size_t>(shape[axis]);
    if (sums.empty()) sums.resize(channels);
    if (sums.size() != channels) return false;
    int64_t inner = 1;
    for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    for (int64_t i = 0; i < tensor.size(); ++i) {
      sums[static_cast<size_t>(i / inner % shape[axis])] += tensor.AtDouble(i);
    }
    count += tensor.size() / shape[axis];
    return true;
  }
};

}  // namespace

// Empty if the value has no channels.
absl::StatusOr<std::vector<double>> Quantizer::MeansOf(SampleRunner* runner,
                                                       const std::string& value,
                                                       bool is_conv) const {
  ChannelSums sums;
  for (size_t s = 0; s < calibration_; ++s) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("correcting biases"));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner->Run(samples_[s]));
    const auto& names = runner->graph().output_names();
    const auto at = std::find(names.begin(), names.end(), value) - names.begin();
    const Tensor& tensor = outputs[static_cast<size_t>(at)];
    const size_t axis = is_conv ? 1 : tensor.shape().size() - 1;
    if (!sums.Add(tensor, axis)) return std::vector<double>();
  }
  for (double& sum : sums.sums) sum /= static_cast<double>(std::max<int64_t>(1, sums.count));
  return sums.sums;
}

double Quantizer::LargestShift(size_t op) const {
  double largest = 0;
  const auto shift = bias_shifts_.find(ops()[op].result);
  if (shift == bias_shifts_.end()) return 0;
  for (const double number : shift->second) largest = std::max(largest, std::abs(number));
  return largest;
}

absl::Status Quantizer::CorrectBiases() {
  int corrected = 0;
  for (size_t i = 0; i < ops().size(); ++i) {
    const std::string value = chosen_[i] ? model_.BiasedValue(static_cast<int>(i)) : "";
    if (value.empty()) continue;
    SampleRunner f32([&](const ImportOptions& import) { return model_.Import({value}, import); },
                     options_.execution, options_.dims);
    LEMMA_ASSIGN_OR_RETURN(const QuantizedModel model, model_.Quantize(PlanFor(chosen_)));
    SampleRunner quantized = RunnerOf(model, {value});
    const bool is_conv = ops()[i].type == "Conv";
    LEMMA_ASSIGN_OR_RETURN(std::vector<double> expected, MeansOf(&f32, value, is_conv));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<double> actual, MeansOf(&quantized, value, is_conv));
    if (expected.size() != actual.size() || expected.empty()) continue;
    bool is_finite = true;
    for (size_t c = 0; c < expected.size(); ++c) {
      expected[c] -= actual[c];
      is_finite = is_finite && std::isfinite(static_cast<float>(expected[c]));
    }
    if (!is_finite) continue;
    bias_shifts_[ops()[i].result] = std::move(expected);
    ++corrected;
  }
  LEMMA_ASSIGN_OR_RETURN(const bool uses, UseCorrections());
  if (!uses) {
    bias_shifts_.clear();
    return absl::OkStatus();
  }
  result_.notes.back() += absl::StrCat(" (", corrected, " products)");
  return FindBounds();
}

absl::StatusOr<bool> Quantizer::UseCorrections() {
  if (bias_shifts_.empty()) {
    result_.notes.emplace_back("correct_bias: no product can get a bias");
    return false;
  }
  const auto samples = absl::MakeSpan(samples_);
  const auto expected = absl::MakeSpan(expected_);
  double before = 0, after = 0, held_after = 0;
  for (const bool with : {false, true}) {
    QuantizationPlan plan = PlanFor(chosen_);
    if (!with) plan.bias_shifts.clear();
    LEMMA_ASSIGN_OR_RETURN(const QuantizedModel model, model_.Quantize(plan));
    SampleRunner runner = RunnerOf(model, {});
    LEMMA_ASSIGN_OR_RETURN(
        const ErrorSums errors,
        ErrorsOf(&runner, samples.subspan(0, calibration_), expected.subspan(0, calibration_)));
    (with ? after : before) = Worst(errors);
    if (!with || options_.max_error < 0) continue;
    LEMMA_ASSIGN_OR_RETURN(const ErrorSums held, ErrorsOf(&runner, samples.subspan(calibration_),
                                                          expected.subspan(calibration_)));
    held_after = Worst(held);
  }
  // Not written with `>`, so that NaN is no improvement.
  const bool improves = after <= before;
  const bool keeps = options_.max_error < 0 || std::max(after, held_after) <= options_.max_error;
  const std::string errors = absl::StrCat(
      "the largest error of an output on the samples for "
      "calibration is ",
      after, " with, ", before, " without them");
  result_.notes.push_back(
      improves && keeps ? absl::StrCat("correct_bias: biases are corrected: ", errors)
      : improves ? absl::StrCat("correct_bias: biases stay as they are, since with other ones "
                                "an error is above max_error")
                 : absl::StrCat("correct_bias: biases stay as they are: ", errors));
  return improves && keeps;
}

}  // namespace lemma::api
