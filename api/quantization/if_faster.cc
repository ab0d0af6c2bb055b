// Takes the quantized model only if it is faster: api/quantize.h.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/model_file.h"
#include "api/models/option_error.h"
#include "api/optimization/certificate_file.h"
#include "api/quantization/quantizer.h"
#include "api/quantize.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace lemma::api {
namespace {

constexpr double kFaster = 0.98;

absl::Status Copy(const std::string& model, const std::string& output) {
  LEMMA_ASSIGN_OR_RETURN(const std::string sha256, FileSha256(model));
  LoadOptions options;
  options.symbolic = true;
  LEMMA_ASSIGN_OR_RETURN(const Model loaded, LoadModel(model, options));
  LEMMA_ASSIGN_OR_RETURN(std::vector<StagedFile> files, StageCopy(loaded, sha256, output));
  return CommitAll(std::move(files));
}

// Why the quantized model is not taken; "" if it is. TF32 gains nothing on the CPU, where models
// are timed.
std::string Problem(const QuantizeResult& result, const std::string& form) {
  if (!result.written) return "no operator keeps to the budget";
  if (form == "tf32") return "";
  if (*result.quantized_ms <= kFaster * *result.f32_ms) return "";
  return absl::StrFormat("quantized, it takes %.3f of the time",
                         *result.quantized_ms / *result.f32_ms);
}

}  // namespace

absl::StatusOr<QuantizedIfFaster> QuantizeIfFaster(const std::string& model,
                                                   const std::string& output,
                                                   const QuantizeOptions& options) {
  LEMMA_RETURN_IF_ERROR(options.Check());
  LEMMA_RETURN_IF_ERROR(CheckRuns(options.runs, 1));
  LEMMA_RETURN_IF_ERROR(CheckOutputs({output}, {model}));
  QuantizedIfFaster outcome;
  bool cannot = false;
  auto result = QuantizeModel(model, output, options, &cannot);
  if (result.ok()) {
    outcome.kept = Problem(*result, options.form);
    outcome.quantized = *std::move(result);
  } else if (cannot) {
    outcome.kept = std::string(result.status().message());
  } else {
    return result.status();
  }
  if (!outcome.kept.empty()) LEMMA_RETURN_IF_ERROR(Copy(model, output));
  return outcome;
}

}  // namespace lemma::api
