// ONNX Runtime as an engine of its own, to hold ours against: tools/ort_run, in another process.
#ifndef LEMMA_TESTS_RUNTIME_ORT_ENGINE_H_
#define LEMMA_TESTS_RUNTIME_ORT_ENGINE_H_

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/tensor.h"

namespace lemma {

class OrtEngine {
 public:
  // `arguments`: of tools/ort_run each. FailedPrecondition, saying how to get it, if ONNX Runtime
  // is not installed: nothing is installed here.
  static absl::StatusOr<std::unique_ptr<OrtEngine>> Start(std::vector<std::string> arguments);
  ~OrtEngine();

  // The outputs of a serialized model. InvalidArgument with ONNX Runtime's own words if it refuses
  // it or its inputs; Internal if it ended: the next call starts it anew. Unimplemented if it has
  // no inputs of that element type.
  absl::StatusOr<std::vector<Tensor>> Run(const std::string& model,
                                          const std::vector<Tensor>& inputs);

 private:
  explicit OrtEngine(std::vector<std::string> arguments);
  absl::Status Spawn();
  void End();
  absl::StatusOr<std::string> Line();

  const std::vector<std::string> arguments_;
  const std::string folder_;  // of the model and its tensors
  int process_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_ORT_ENGINE_H_
