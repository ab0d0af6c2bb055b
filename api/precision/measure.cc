#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/precision.h"
#include "base/status_macros.h"
#include "base/text_table.h"
#include "graph/builder.h"
#include "graph/training_state.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/fusion/rounded_factors.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma::api {

using codegen::ProductPrecision;

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

absl::StatusOr<std::vector<Tensor>> Execute(Backend& backend, const Graph& graph,
                                            const std::vector<Tensor>& inputs, int threads) {
  CompileOptions options;
  options.threads = threads;
  LEMMA_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                         backend.Compile(graph, options));
  return executable->Run(inputs);
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

// Sets what the row says of all outputs.
void Summarize(PrecisionRow* row) {
  for (const PrecisionError& error : row->errors) {
    row->largest = std::max(row->largest, error.largest);
    row->relative = std::max(row->relative, error.relative);
    const double used = error.largest == 0 ? 0 : error.largest / error.allowed;
    row->tolerance_used = std::max(row->tolerance_used, used);
  }
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

// Sets what a plan says of the products.
absl::Status CountProducts(const Graph& graph, const cuda::PlanOptions& options,
                           NodeTraitsCache& traits, PrecisionRow* row) {
  LEMMA_ASSIGN_OR_RETURN(
      const cuda::CudaPlan plan,
      cuda::PlanGraph(cuda::StoreFactors(graph, traits, options.grid), traits, options));
  const auto add = [&](int64_t terms) {
    ++row->products;
    row->terms = std::max(row->terms, terms);
    row->bound = std::max(row->bound, codegen::ProductErrorBound(row->precision, terms));
  };
  for (const cuda::CudaStep& step : plan.steps) {
    if (step.program == nullptr) continue;
    for (const codegen::GridKernel& kernel : step.program->kernels) {
      if (kernel.tile && kernel.tile->precision == row->precision) add(kernel.tile->size.k);
      if (!kernel.streamed) continue;
      add(kernel.streamed->depth);
      add(kernel.streamed->keys);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PrecisionResult> MeasurePrecisions(const Model& model,
                                                  const PrecisionOptions& options) {
  if (options.threads < 1) return OptionError("option threads: must be at least 1");
  if (options.architecture != 80 && options.architecture != 90) {
    return OptionError("option architecture: must be 80 or 90");
  }
  for (ProductPrecision precision : options.precisions) {
    if (std::count(std::begin(codegen::kRoundingPrecisions), std::end(codegen::kRoundingPrecisions),
                   precision) == 0) {
      return OptionError(absl::StrCat("option precisions: ", codegen::Name(precision),
                                      " rounds nothing that the model does not round"));
    }
  }
  LEMMA_RETURN_IF_ERROR(CheckInputOptions(options.inputs));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, Inputs(model, options.inputs));
  const Graph& graph = model.graph;
  PrecisionResult result;
  const auto start = std::chrono::steady_clock::now();
  const auto reference = MakeReferenceBackend(BetweenOperators::kUnrounded);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> expected,
                         Execute(*reference, WithWideOutputs(graph), inputs, options.threads));
  result.reference_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.not_finite = CountNotFinite(expected);
  CpuOptions cpu;
  cpu.winograd = WinogradUse::kNever;
  const auto backend = MakeCpuBackend(cpu);
  for (ProductPrecision precision : options.precisions) {
    PrecisionRow row;
    row.precision = precision;
    cuda::PlanOptions plan;
    plan.grid.precision = precision;
    plan.grid.architecture = options.architecture;
    NodeTraitsCache traits;
    LEMMA_RETURN_IF_ERROR(CountProducts(graph, plan, traits, &row));
    const cuda::RoundedFactors rounded = cuda::RoundFactors(graph, traits, plan.grid);
    row.rounded = rounded.products;
    row.left = rounded.left;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                           Execute(*backend, rounded.graph, inputs, options.threads));
    const std::vector<double> tolerances = RelativeTolerances(graph, {}, precision);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!IsFloat(outputs[i].dtype())) continue;
      row.errors.push_back(ErrorOf(outputs[i], expected[i], tolerances[i]));
      row.errors.back().output = graph.output_names()[i];
    }
    Summarize(&row);
    result.rows.push_back(std::move(row));
  }
  return result;
}

bool PrecisionResult::within() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const PrecisionRow& row) { return row.tolerance_used <= 1; });
}

std::string TextOf(const PrecisionResult& result) {
  TextTable table({"precision", "products", "longest sum", "bound of a product", "largest error",
                   "relative error", "of tolerance"});
  std::string left;
  for (const PrecisionRow& row : result.rows) {
    table.Row({Name(row.precision), absl::StrCat(row.products), absl::StrCat(row.terms),
               row.products == 0 ? "-" : FormatError(row.bound), FormatError(row.largest),
               FormatError(row.relative), absl::StrFormat("%.2g", row.tolerance_used)});
    if (row.left == 0) continue;
    absl::StrAppend(&left, Name(row.precision), ": the measurement computes ",
                    FormatCount(row.left, "product"),
                    " in f32: values that it cannot round alone\n");
  }
  std::string text = table.ToString();
  if (result.not_finite > 0) {
    absl::StrAppend(&text, "left out: ", FormatCount(result.not_finite, "element"),
                    " of outputs that are infinite or NaN in f64\n");
  }
  return text + left;
}

}  // namespace lemma::api
