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
  int64_t count = 0;   // of the elements of a channel
  bool usable = true;  // whether all tensors had the same channels

  void Add(const Tensor& tensor, size_t axis) {
    const Shape& shape = tensor.shape();
    const int64_t channels = shape.size() <= axis ? 0 : shape[axis];
    if (sums.empty()) sums.resize(static_cast<size_t>(channels));
    usable = usable && channels > 0 && sums.size() == static_cast<size_t>(channels);
    if (!usable) return;
    int64_t inner = 1;
    for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    for (int64_t i = 0; i < tensor.size(); ++i) {
      sums[static_cast<size_t>(i / inner % channels)] += tensor.AtDouble(i);
    }
    count += tensor.size() / channels;
  }
};

}  // namespace

absl::StatusOr<std::map<std::string, std::vector<double>>> Quantizer::MeansOf(
    SampleRunner* runner, const std::map<std::string, bool>& values) const {
  std::map<std::string, ChannelSums> sums;
  for (size_t s = 0; s < calibration_; ++s) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("correcting biases"));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner->Run(samples_[s]));
    std::set<std::string> seen;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto value = values.find(runner->graph().output_names()[i]);
      if (value == values.end() || !seen.insert(value->first).second) continue;
      const size_t axis = value->second ? 1 : outputs[i].shape().size() - 1;
      sums[value->first].Add(outputs[i], axis);
    }
  }
  std::map<std::string, std::vector<double>> means;
  for (auto& [value, sum] : sums) {
    if (!sum.usable || sum.count == 0) continue;
    for (double& number : sum.sums) number /= static_cast<double>(sum.count);
    means[value] = std::move(sum.sums);
  }
  return means;
}

double Quantizer::LargestShift(size_t op) const {
  double largest = 0;
  const auto shift = bias_shifts_.find(ops()[op].result);
  if (shift == bias_shifts_.end()) return 0;
  for (const double number : shift->second) largest = std::max(largest, std::abs(number));
  return largest;
}

absl::Status Quantizer::CorrectBiases() {
  std::map<std::string, bool> values;  // that a bias can correct; true: of a Conv
  for (size_t i = 0; i < ops().size(); ++i) {
    const std::string value = chosen_[i] ? model_.BiasedValue(static_cast<int>(i)) : "";
    if (!value.empty()) values[value] = ops()[i].type == "Conv";
  }
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& [value, is_conv] : values) names.push_back(value);
  SampleRunner f32([&](const ImportOptions& import) { return model_.Import(names, import); },
                   options_.execution, options_.dims);
  LEMMA_ASSIGN_OR_RETURN(const auto expected, MeansOf(&f32, values));
  for (size_t i = 0; i < ops().size(); ++i) {
    const std::string value = chosen_[i] ? model_.BiasedValue(static_cast<int>(i)) : "";
    if (expected.count(value) == 0) continue;
    LEMMA_ASSIGN_OR_RETURN(const QuantizedModel model, model_.Quantize(PlanFor(chosen_)));
    SampleRunner quantized = RunnerOf(model, {value});
    LEMMA_ASSIGN_OR_RETURN(const auto actual, MeansOf(&quantized, {*values.find(value)}));
    if (actual.count(value) == 0) continue;
    std::vector<double> shift = expected.at(value);
    bool is_finite = shift.size() == actual.at(value).size();
    for (size_t c = 0; c < shift.size() && is_finite; ++c) {
      shift[c] -= actual.at(value)[c];
      is_finite = std::isfinite(static_cast<float>(shift[c]));
    }
    if (is_finite) bias_shifts_[ops()[i].result] = std::move(shift);
  }
  LEMMA_ASSIGN_OR_RETURN(const bool uses, UseCorrections());
  if (uses) return FindBounds();
  bias_shifts_.clear();
  return absl::OkStatus();
}

absl::StatusOr<bool> Quantizer::UseCorrections() {
  if (bias_shifts_.empty()) {
    result_.notes.emplace_back("correct_bias: no product can get a bias");
    return false;
  }
  const auto samples = absl::MakeSpan(samples_);
  const auto expected = absl::MakeSpan(expected_);
  double before = 0, after = 0, held_after = 0;
  std::vector<double> relative;  // by output, without corrections
  std::string worse;             // an output whose error grows
  for (const bool with : {false, true}) {
    QuantizationPlan plan = PlanFor(chosen_);
    if (!with) plan.bias_shifts.clear();
    LEMMA_ASSIGN_OR_RETURN(const QuantizedModel model, model_.Quantize(plan));
    SampleRunner runner = RunnerOf(model, {});
    LEMMA_ASSIGN_OR_RETURN(
        const ErrorSums errors,
        ErrorsOf(&runner, samples.subspan(0, calibration_), expected.subspan(0, calibration_)));
    (with ? after : before) = Worst(errors);
    for (size_t i = 0; i < errors.size(); ++i) {
      if (!with) relative.push_back(errors[i].relative());
      // Not written with `>`, so that NaN is no improvement.
      if (with && !(errors[i].relative() <= relative[i])) worse = output_names_[i];
    }
    if (!with || options_.max_error < 0) continue;
    LEMMA_ASSIGN_OR_RETURN(const ErrorSums held, ErrorsOf(&runner, samples.subspan(calibration_),
                                                          expected.subspan(calibration_)));
    held_after = Worst(held);
  }
  const bool improves = worse.empty();
  const bool keeps = options_.max_error < 0 || std::max(after, held_after) <= options_.max_error;
  const std::string errors =
      absl::StrCat("the largest error of an output on the samples for calibration is ", after,
                   " with, ", before, " without them");
  result_.notes.push_back(
      improves && keeps ? absl::StrCat("correct_bias: ", bias_shifts_.size(),
                                       bias_shifts_.size() == 1 ? " bias is" : " biases are",
                                       " corrected: ", errors)
      : improves
          ? "correct_bias: biases stay as they are, since with other ones an error is above "
            "max_error"
          : absl::StrCat("correct_bias: biases stay as they are, since the error of output '",
                         worse, "' would grow: ", errors));
  return improves && keeps;
}

}  // namespace lemma::api
