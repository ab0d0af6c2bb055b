#include "api/quantization/sample_runner.h"

#include <algorithm>

#include "base/status_macros.h"

namespace lemma::api {

absl::Status SampleRunner::Prepare(const Sample& sample) {
  if (imported_ != nullptr && imported_->fixed_inputs.empty() &&
      CheckInputs(imported_->graph, sample).ok()) {
    return absl::OkStatus();
  }
  ImportOptions options;
  options.dims = dims_;
  options.inputs = sample;
  LEMMA_ASSIGN_OR_RETURN(ImportedModel imported, import_(options));
  LEMMA_RETURN_IF_ERROR(CheckInputs(imported.graph, sample));
  if (backend_ == nullptr) {
    LEMMA_ASSIGN_OR_RETURN(backend_, MakeBackend(execution_));
  }
  LEMMA_ASSIGN_OR_RETURN(executable_,
                         backend_->Compile(imported.graph, CompileOptionsOf(execution_)));
  imported_ = std::make_unique<ImportedModel>(std::move(imported));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> SampleRunner::Run(const Sample& sample) {
  LEMMA_RETURN_IF_ERROR(Prepare(sample));
  return executable_->Run(sample);
}

}  // namespace lemma::api
