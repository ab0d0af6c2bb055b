// Executes a model in f64, and measures how far outputs are from that.
#ifndef LEMMA_API_PRECISION_ERRORS_H_
#define LEMMA_API_PRECISION_ERRORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "api/precision.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

struct WideRun {
  std::vector<Tensor> inputs;
  // The outputs of the definitions, with all values in f64. Outputs of float types are f64.
  std::vector<Tensor> expected;
  int64_t not_finite = 0;  // elements of `expected` that are infinite or NaN
  double seconds = 0;      // for the execution
};

// Executes the model by its definitions. Random state of a training step is scaled like weights.
// InvalidArgument for a wrong option; Unimplemented if an operator has no definition.
absl::StatusOr<WideRun> RunInF64(const Model& model, const InputOptions& options, int threads);

// Appends to row->errors the errors of the outputs of float types, and sets the numbers that
// summarize them. row->precision decides how much each output may differ. `expected`: of RunInF64.
void AddErrors(const Graph& graph, const std::vector<Tensor>& outputs,
               const std::vector<Tensor>& expected, PrecisionRow* row);

}  // namespace lemma::api

#endif  // LEMMA_API_PRECISION_ERRORS_H_
