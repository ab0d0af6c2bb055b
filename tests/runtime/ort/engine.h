// Runs ONNX Runtime in another process (tools/ort_run), so that tests can compare Lemma with it.
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

// Only one engine may exist in a process at a time: all use the same folder.
class OrtEngine {
 public:
  // Starts `tools/ort_run each` with the further arguments `arguments`. FailedPrecondition if ONNX
  // Runtime is not installed; the message says how to install it. Installs nothing.
  static absl::StatusOr<std::unique_ptr<OrtEngine>> Start(std::vector<std::string> arguments);
  ~OrtEngine();

  // The outputs of a serialized model. InvalidArgument with ONNX Runtime's message if it refuses
  // the model or its inputs. Internal if the process ended; the next call restarts it.
  // Unimplemented if an input is bf16.
  absl::StatusOr<std::vector<Tensor>> Run(const std::string& model,
                                          const std::vector<Tensor>& inputs);

 private:
  explicit OrtEngine(std::vector<std::string> arguments);
  absl::Status Spawn();
  void End();
  absl::StatusOr<std::string> Line();

  const std::vector<std::string> arguments_;
  const std::string folder_;  // holds the model and its tensors
  int process_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_ORT_ENGINE_H_
