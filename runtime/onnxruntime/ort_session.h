// Loads a model into ONNX Runtime and runs it.
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_ORT_SESSION_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_ORT_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "runtime/onnxruntime/ort_library.h"

namespace lemma::ort {

// The levels at which the library optimizes a model itself, with the library's numbers for them.
enum class OrtLevel { kDisabled = 0, kBasic = 1, kExtended = 2, kAll = 99 };

struct LoadSettings {
  int threads = 1;  // within one operator; operators run one after another
  OrtLevel level = OrtLevel::kAll;
  std::string optimized_model;  // path to which the optimized model is written; "": none
};

// A model in ONNX Runtime, ready to run.
class LoadedModel {
 public:
  // `model`: a serialized ModelProto. `inputs` and `outputs`: names of the model's inputs and
  // outputs, in the order in which Run takes and returns them. Errors as in Library::Take.
  static absl::StatusOr<std::unique_ptr<LoadedModel>> Create(const Library* library,
                                                             absl::string_view model,
                                                             std::vector<std::string> inputs,
                                                             std::vector<std::string> outputs,
                                                             const LoadSettings& settings);
  ~LoadedModel();
  LoadedModel(const LoadedModel&) = delete;

  // Returns the outputs, which share no memory with this object. Errors as in Library::Take.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs);
  // As Run, but does not copy the outputs out of the library; for timing.
  absl::Status RunOnly(absl::Span<const Tensor> inputs);

 private:
  LoadedModel(const Library* library, std::vector<std::string> inputs,
              std::vector<std::string> outputs);
  // Values that belong to the library.
  class Values;
  absl::Status Execute(absl::Span<const Tensor> inputs, Values* outputs);

  const Library* const library_;
  const std::vector<std::string> inputs_, outputs_;
  std::vector<const char*> input_names_, output_names_;  // point into inputs_ and outputs_
  Session* session_ = nullptr;
};

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_SESSION_H_
