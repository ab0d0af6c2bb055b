// The interface of an engine: another program that executes ONNX models, to be compared with the
// definitions.
#ifndef LEMMA_RUNTIME_ENGINE_H_
#define LEMMA_RUNTIME_ENGINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor.h"

namespace lemma {

// An ONNX model as bytes (a serialized ModelProto). `inputs` and `outputs` are the names of the
// tensors that Engine::Run takes and returns, in the same order.
struct SerializedModel {
  std::string bytes;
  std::vector<std::string> inputs, outputs;
};

class Engine {
 public:
  virtual ~Engine() = default;

  // The engine's name with its version, such as "ONNX Runtime 1.30.0".
  virtual std::string Name() const = 0;
  // Names of the engine's levels of optimization, the lowest first. At the first level, nothing is
  // optimized.
  virtual const std::vector<std::string>& Levels() const = 0;

  // Executes the model at `level`, one of Levels(), and returns its outputs. InvalidArgument if the
  // engine refuses the model or the inputs, Unimplemented if it has no kernel for an operator,
  // Internal for another error that it reports. Aborted if the engine's process ended,
  // DeadlineExceeded if it gave no answer in time. After these two errors, Run may be called again.
  virtual absl::StatusOr<std::vector<Tensor>> Run(const SerializedModel& model,
                                                  absl::Span<const Tensor> inputs,
                                                  const std::string& level) = 0;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_ENGINE_H_
