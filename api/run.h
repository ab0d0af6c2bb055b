// Executes a model, and reports outputs, times, memory and the time of each kernel. Code:
// api/execution. TrainingRun (api/train.h) runs training steps.
#ifndef LEMMA_API_RUN_H_
#define LEMMA_API_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/execution/backends.h"
#include "api/execution/compare.h"
#include "api/execution/roofline.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/executor.h"

namespace lemma::api {

struct RunOptions {
  ExecutionOptions execution;
  InputOptions inputs;
  int64_t runs = 10;     // timed executions, after one untimed execution
  bool profile = false;  // also measure each kernel, in `runs` more executions, and peak rates
  bool trace = false;    // also record when each kernel starts, in one more execution
  // Files of tensors with the expected outputs, or folders with output_0.pb, …. If empty, nothing
  // is compared.
  std::vector<std::string> expect;
  // Receives the outputs before anything is timed. If it returns an error, Run returns that error.
  std::function<absl::Status(const std::vector<Tensor>&)> on_outputs;
};

struct RunResult {
  std::string backend;  // the name of the back end that executed the model
  std::vector<Tensor> outputs;
  std::vector<double> ms;  // wall-clock time of each timed execution
  MemoryUse memory;
  // The kernels in the order in which they run, with medians over `runs` more executions, and the
  // peak rates. Only with RunOptions::profile.
  std::vector<KernelTiming> profile;
  Roofline roofline;
  std::vector<KernelTiming> trace;  // the kernels of one execution; only with RunOptions::trace
  std::optional<OutputDifference> difference;  // absent if RunOptions::expect is empty
};

// Executes the model. Messages about the model begin with its path; messages about an option name
// the option ("option runs").
absl::StatusOr<RunResult> Run(const Model& model, const RunOptions& options);
// The result for people, with the table of kernels if options.profile.
std::string TextOf(const Model& model, const RunOptions& options, const RunResult& result);

// A compiled model with the values of its inputs, for callers who execute it themselves.
class PreparedModel {
 public:
  // Errors as in Run.
  static absl::StatusOr<PreparedModel> Make(const Model& model, const ExecutionOptions& execution,
                                            const InputOptions& inputs);

  // Executes the model once.
  absl::StatusOr<std::vector<Tensor>> Outputs() { return executable_->Run(inputs_); }
  // The wall-clock time of each of `runs` executions, in milliseconds.
  absl::StatusOr<std::vector<double>> Times(int64_t runs);

  const Graph& graph() const { return graph_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  Backend& backend() const { return *backend_; }
  Executable& executable() const { return *executable_; }

 private:
  PreparedModel(Graph graph, std::vector<Tensor> inputs, std::unique_ptr<Backend> backend,
                std::unique_ptr<Executable> executable)
      : graph_(std::move(graph)),
        inputs_(std::move(inputs)),
        backend_(std::move(backend)),
        executable_(std::move(executable)) {}

  Graph graph_;
  std::vector<Tensor> inputs_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace lemma::api

#endif  // LEMMA_API_RUN_H_
