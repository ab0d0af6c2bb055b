// Equalizes and smooths the model in f32, and compares it with the original.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "api/quantization/quantizer.h"
#include "base/status_macros.h"
#include "runtime/tolerance.h"

namespace lemma::api {
namespace {

// Widens the largest |element| of each channel, which is the index along the last axis. Does
// nothing if that axis has another size.
void WidenChannels(const Tensor& tensor, std::vector<double>* largest) {
  if (tensor.shape().empty() || tensor.dtype() != DType::kF32) return;
  if (tensor.shape().back() != static_cast<int64_t>(largest->size())) return;
  const absl::Span<const float> data = tensor.data<float>();
  for (size_t i = 0; i < data.size(); ++i) {
    double& here = (*largest)[i % largest->size()];
    here = std::max(here, std::abs(static_cast<double>(data[i])));
  }
}

}  // namespace

bool Quantizer::Adopt(const RescaledModel& rescaled, const std::string& what) {
  if (rescaled.values == 0) {
    result_.notes.push_back(absl::StrCat(what, ": nothing to scale"));
    return false;
  }
  result_.notes.push_back(absl::StrCat(
      what, ": ", rescaled.channels, rescaled.channels == 1 ? " channel of " : " channels of ",
      rescaled.values, rescaled.values == 1 ? " value" : " values", " scaled by powers of two"));
  result_.notes.insert(result_.notes.end(), rescaled.notes.begin(), rescaled.notes.end());
  model_ = rescaled.model;
  return true;
}

absl::StatusOr<bool> Quantizer::Equalize() {
  LEMMA_RETURN_IF_ERROR(ReportProgress("equalizing"));
  LEMMA_ASSIGN_OR_RETURN(const RescaledModel rescaled, model_.Equalized(candidates_));
  return Adopt(rescaled, "equalize");
}

absl::StatusOr<bool> Quantizer::Smooth() {
  std::map<std::string, std::vector<double>> largest;
  std::vector<std::string> values;
  for (const auto& [value, channels] : model_.SmoothableValues(candidates_)) {
    largest[value].resize(static_cast<size_t>(channels));
    values.push_back(value);
  }
  SampleRunner runner([&](const ImportOptions& import) { return model_.Import(values, import); },
                      options_.execution, options_.dims);
  for (size_t s = 0; s < calibration_ && !values.empty(); ++s) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("finding the largest number of each channel"));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner.Run(samples_[s]));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto found = largest.find(runner.graph().output_names()[i]);
      if (found != largest.end()) WidenChannels(outputs[i], &found->second);
    }
  }
  LEMMA_ASSIGN_OR_RETURN(const RescaledModel rescaled,
                         model_.Smoothed(candidates_, *options_.smooth, largest));
  return Adopt(rescaled, "smooth");
}

absl::Status Quantizer::CheckRescaled() {
  SampleRunner runner([&](const ImportOptions& import) { return model_.Import({}, import); },
                      options_.execution, options_.dims);
  bool same_bits = true;
  for (size_t s = 0; s < samples_.size(); ++s) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("comparing the scaled model with the original"));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner.Run(samples_[s]));
    const std::vector<double> tolerances =
        RelativeTolerances(runner.graph(), runner.executable().findings());
    for (size_t i = 0; i < outputs.size(); ++i) {
      same_bits = same_bits && outputs[i].SameBytes(expected_[s][i]);
      const Difference difference = Compare(outputs[i], expected_[s][i], tolerances[i]);
      if (difference.within) continue;
      return absl::InternalError(absl::StrCat(
          model_.path(), ": with other scales, output '", output_names_[i], "' differs on sample ",
          s, " from the original (", difference.ToString(), "); leave out equalize and smooth"));
    }
  }
  result_.notes.push_back(absl::StrCat(
      "with these scales, the model in f32 gives ",
      same_bits ? "the same bits as" : "nearly the same numbers as, within rounding,",
      " the original on all ", samples_.size(), samples_.size() == 1 ? " sample" : " samples"));
  return absl::OkStatus();
}

absl::Status Quantizer::Rescale() {
  bool equalized = false, smoothed = false;
  if (options_.equalize) {
    LEMMA_ASSIGN_OR_RETURN(equalized, Equalize());
  }
  if (options_.smooth) {
    LEMMA_ASSIGN_OR_RETURN(smoothed, Smooth());
  }
  return equalized || smoothed ? CheckRescaled() : absl::OkStatus();
}

}  // namespace lemma::api
