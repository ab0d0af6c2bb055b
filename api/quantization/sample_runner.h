// Executes a model on samples whose sizes may differ.
#ifndef LEMMA_API_QUANTIZATION_SAMPLE_RUNNER_H_
#define LEMMA_API_QUANTIZATION_SAMPLE_RUNNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "graph/graph.h"
#include "graph/onnx/import.h"
#include "graph/tensor.h"
#include "runtime/executor.h"

namespace lemma::api {

// Values of a model's inputs, in their order.
using Sample = std::vector<Tensor>;

class SampleRunner {
 public:
  // Imports the model, with sizes and constant inputs as the options say.
  using Importer = std::function<absl::StatusOr<ImportedModel>(const ImportOptions&)>;

  // `dims`: sizes of symbolic dimensions, by name; each sample gives the other sizes.
  SampleRunner(Importer import, ExecutionOptions execution, std::map<std::string, int64_t> dims)
      : import_(std::move(import)), execution_(std::move(execution)), dims_(std::move(dims)) {}

  // Executes the model and returns its outputs, in the order of graph(). The model is imported and
  // compiled again if the sample's tensors do not have the types of the graph's inputs, or if the
  // last import made values of inputs part of the graph (ImportedModel::fixed_inputs): then every
  // sample is imported anew.
  absl::StatusOr<std::vector<Tensor>> Run(const Sample& sample);
  // Only imports and compiles, as Run would.
  absl::Status Prepare(const Sample& sample);

  // The model as it was imported and compiled for the last Run or Prepare; call one of these
  // before. graph().output_names() names the outputs.
  const Graph& graph() const { return imported_->graph; }
  const ImportedModel& imported() const { return *imported_; }
  Executable& executable() { return *executable_; }

 private:
  const Importer import_;
  const ExecutionOptions execution_;
  const std::map<std::string, int64_t> dims_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<ImportedModel> imported_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_SAMPLE_RUNNER_H_
