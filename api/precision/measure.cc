#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/option_error.h"
#include "api/precision.h"
#include "api/precision/errors.h"
#include "base/status_macros.h"
#include "base/text_table.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/fusion/rounded_factors.h"
#include "runtime/cuda/fusion/store_factors.h"

namespace lemma::api {

using codegen::ProductPrecision;

namespace {

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
  const Graph& graph = model.graph;
  LEMMA_ASSIGN_OR_RETURN(const WideRun wide, RunInF64(model, options.inputs, options.threads));
  PrecisionResult result;
  result.reference_seconds = wide.seconds;
  result.not_finite = wide.not_finite;
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
    CompileOptions compile;
    compile.threads = options.threads;
    LEMMA_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                           backend->Compile(rounded.graph, compile));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, executable->Run(wide.inputs));
    AddErrors(graph, outputs, wide.expected, &row);
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
