// Quantizes a model: api/quantize.h.
#include "api/quantize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/models/model_file.h"
#include "api/models/option_error.h"
#include "api/quantization/quantizer.h"
#include "api/quantization/ranges.h"
#include "base/status_macros.h"

namespace lemma::api {

namespace {

// Checks the options that prepare a model for integers, or correct it.
absl::Status CheckCorrections(const QuantizeOptions& options) {
  const bool is_static = options.form == "static";
  if (options.equalize && !is_static) {
    return OptionError("option equalize: needs option form static");
  }
  if (options.smooth && !is_static && options.form != "dynamic") {
    return OptionError("option smooth: needs option form static or dynamic");
  }
  if (options.smooth && !(*options.smooth >= 0 && *options.smooth <= 1)) {
    return OptionError("option smooth: must be from 0 to 1; 0.5 is usual");
  }
  if (options.correct_bias && !is_static) {
    return OptionError("option correct_bias: needs option form static");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status QuantizeOptions::Check() const {
  const std::vector<std::string> forms = {"static", "dynamic", "weights", "bf16", "f16", "tf32"};
  if (std::find(forms.begin(), forms.end(), form) == forms.end()) {
    return OptionError(
        absl::StrCat("option form: '", form, "' is none of: ", absl::StrJoin(forms, ", ")));
  }
  const bool is_float = ParseFloatFormat(form).has_value();
  if (is_float && (bits != 8 || block != 0 || !per_channel || !symmetric_weights)) {
    return OptionError(absl::StrCat("option ",
                                    bits != 8      ? "bits"
                                    : block != 0   ? "block"
                                    : !per_channel ? "per_channel"
                                                   : "symmetric_weights",
                                    ": form ", form, " has no integers"));
  }
  if (!ParseRangeMethod(ranges)) {
    return OptionError(absl::StrCat("option ranges: '", ranges,
                                    "' is none of: ", absl::StrJoin(RangeMethodNames(), ", ")));
  }
  if (!(percentile > 50 && percentile <= 100)) {
    return OptionError("option percentile: must be above 50 and at most 100");
  }
  const bool is_weights = form == "weights";
  if (bits != 8 && bits != 7 && !(is_weights && bits == 4)) {
    return OptionError("option bits: must be 8 or 7, or 4 with option form weights");
  }
  if (block != 0 && (!is_weights || block < 16 || block > 4096 || (block & (block - 1)) != 0)) {
    return OptionError(
        "option block: must be a power of 2 from 16 to 4096, and needs option form weights");
  }
  if (block != 0 && (bits == 7 || !symmetric_weights || !per_channel)) {
    return OptionError(
        "option block: weights in blocks have 4 or 8 bits, scales for each channel "
        "and no zero points");
  }
  if (bits == 4 && block == 0) {
    return OptionError("option block: weights of 4 bits need blocks; 32 is usual");
  }
  if (!symmetric_weights && per_channel) {
    return OptionError(
        "option symmetric_weights: weights with zero points have one scale for the tensor, not one "
        "for each channel (option per_channel), since ONNX Runtime takes one zero point");
  }
  if (form != "static" && symmetric) {
    return OptionError(
        "option symmetric: needs option form static; other forms choose no integers for "
        "activations");
  }
  if (form != "static" && ranges != "minmax") {
    return OptionError("option ranges: needs option form static; other forms store no ranges");
  }
  LEMMA_RETURN_IF_ERROR(CheckCorrections(*this));
  if (std::isnan(max_error)) {
    return OptionError("option max_error: must be a number; a negative one is no limit");
  }
  LEMMA_RETURN_IF_ERROR(CheckRuns(runs, 0));
  return CheckExecutionOptions(execution);
}

absl::StatusOr<QuantizeResult> QuantizeModel(const std::string& model, const std::string& output,
                                             const QuantizeOptions& options, bool* cannot) {
  *cannot = false;
  LEMMA_RETURN_IF_ERROR(options.Check());
  LEMMA_ASSIGN_OR_RETURN(const ModelFormat format, FormatOfPath(output));
  if (format != ModelFormat::kOnnx) {
    return absl::InvalidArgumentError(
        absl::StrCat(output, ": quantized models are written as ONNX; a name ends in .onnx"));
  }
  LEMMA_RETURN_IF_ERROR(CheckOutputs({output}, {model}));
  const auto refuses = [](const absl::Status& status) {
    return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
  };
  auto quantizable = QuantizableModel::Read(model);
  *cannot = refuses(quantizable.status());
  if (!quantizable.ok()) return quantizable.status();
  Quantizer quantizer(*std::move(quantizable), options);
  LEMMA_RETURN_IF_ERROR(quantizer.Prepare());
  // From here on, the options and the samples are known to be right.
  absl::Status status = quantizer.Choose();
  if (status.ok()) status = quantizer.Write(output);
  *cannot = refuses(status);
  if (!status.ok()) return status;
  return quantizer.TakeResult();
}

absl::StatusOr<QuantizeResult> Quantize(const std::string& model, const std::string& output,
                                        const QuantizeOptions& options) {
  bool cannot = false;
  return QuantizeModel(model, output, options, &cannot);
}

}  // namespace lemma::api
