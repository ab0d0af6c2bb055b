#include "api/precision/errors.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "api/models/random_values.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/training_state.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma::api {
namespace {

// `graph` with the outputs of float types as f64, so that the reference rounds none of them.
Graph WithWideOutputs(const Graph& graph) {
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& v = graph.outputs()[i];
    const bool widens = IsFloat(v.dtype()) && v.dtype() != DType::kF64;
    builder.Output(graph.output_names()[i],
                   widens ? *Apply1("cast", {v}, {{"dtype", std::string("f64")}}) : v);
  }
  return *std::move(builder).Build();
}

// Random weights of a training step are scaled, so that values keep their magnitude.
absl::StatusOr<std::vector<Tensor>> Inputs(const Model& model, const InputOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, InputsOf(model, options));
  if (!options.files.empty() || StatePairs(model.graph).empty()) return inputs;
  return RandomStepInputs(model.graph, options.seed, options.int_range);
}

// `expected` is in f64, and so are the numbers that are compared.
PrecisionError ErrorOf(const Tensor& actual, const Tensor& expected, double tolerance) {
  std::vector<double> elements = actual.ToDoubles();
  double most = 0, squares = 0, differences = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const double r = expected.AtDouble(static_cast<int64_t>(i));
    double& y = elements[i];
    if (!std::isfinite(r)) {
      y = r;  // left out
      continue;
    }
    const double difference =
        std::isfinite(y) ? std::abs(y - r) : std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(r));
    squares += r * r;
    differences += difference * difference;
  }
  const Difference compared =
      Compare(*Tensor::FromDoubles(expected.type(), elements), expected, tolerance);
  const auto quotient = [](double a, double b) { return b == 0 ? a : a / b; };
  PrecisionError error;
  error.largest = quotient(compared.largest, most);
  error.relative = quotient(std::sqrt(differences), std::sqrt(squares));
  error.allowed = quotient(tolerance * compared.scale, most);
  return error;
}

int64_t CountNotFinite(const std::vector<Tensor>& outputs) {
  int64_t count = 0;
  for (const Tensor& tensor : outputs) {
    for (int64_t i = 0; IsFloat(tensor.dtype()) && i < tensor.size(); ++i) {
      count += std::isfinite(tensor.AtDouble(i)) ? 0 : 1;
    }
  }
  return count;
}

}  // namespace

absl::StatusOr<WideRun> RunInF64(const Model& model, const InputOptions& options, int threads) {
  LEMMA_RETURN_IF_ERROR(CheckInputOptions(options));
  WideRun run;
  LEMMA_ASSIGN_OR_RETURN(run.inputs, Inputs(model, options));
  const auto start = std::chrono::steady_clock::now();
  CompileOptions compile;
  compile.threads = threads;
  const auto reference = MakeReferenceBackend(BetweenOperators::kUnrounded);
  LEMMA_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                         reference->Compile(WithWideOutputs(model.graph), compile));
  LEMMA_ASSIGN_OR_RETURN(run.expected, executable->Run(run.inputs));
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.not_finite = CountNotFinite(run.expected);
  return run;
}

void AddErrors(const Graph& graph, const std::vector<Tensor>& outputs,
               const std::vector<Tensor>& expected, PrecisionRow* row) {
  const std::vector<double> tolerances = RelativeTolerances(graph, {}, row->precision);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!IsFloat(outputs[i].dtype())) continue;
    PrecisionError error = ErrorOf(outputs[i], expected[i], tolerances[i]);
    error.output = graph.output_names()[i];
    row->largest = std::max(row->largest, error.largest);
    row->relative = std::max(row->relative, error.relative);
    const double used = error.largest == 0 ? 0 : error.largest / error.allowed;
    row->tolerance_used = std::max(row->tolerance_used, used);
    row->errors.push_back(std::move(error));
  }
}

}  // namespace lemma::api
