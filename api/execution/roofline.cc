#include "api/execution/roofline.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/strings/match.h"
#include "graph/barrier.h"
#include "graph/builder.h"

namespace lemma::api {
namespace {

// The best time, in milliseconds, of the kernel of `op` applied to inputs of these types.
absl::StatusOr<double> BestMs(Backend* backend, const CompileOptions& options, const char* op,
                              const std::vector<TensorType>& types, Work* work) {
  GraphBuilder builder("roofline");
  std::vector<Value> operands;
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) {
    operands.push_back(builder.Input(inputs.empty() ? "x" : "w", type));
    auto values = Tensor::Filled(type, 0.5);
    if (!values.ok()) return values.status();
    inputs.push_back(*std::move(values));
  }
  auto result = builder.Op(op, operands);
  if (!result.ok()) return result.status();
  // As in a model, the result stays in memory that is used again in each run: a fresh output costs
  // page faults. The barrier keeps the operators apart.
  constexpr char kName[] = "result";
  builder.Label(*result, kName);
  std::vector<int64_t> axes(result->shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  auto largest = builder.Op("reduce_max", {Barrier(*result, *result)},
                            {{"axes", axes}, {"keepdims", int64_t{0}}});
  if (!largest.ok()) return largest.status();
  builder.Output("largest", *largest);
  auto graph = std::move(builder).Build();
  if (!graph.ok()) return graph.status();
  auto definition = DefinitionOf(result->node());
  if (!definition.ok()) return definition.status();
  auto counted = CountWork(*definition);
  if (!counted.ok()) return counted.status();
  *work = *counted;
  auto executable = backend->Compile(*graph, options);
  if (!executable.ok()) return executable.status();
  constexpr int kRuns = 7;
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    std::vector<KernelTiming> timings;
    auto outputs = (*executable)->RunTimed(inputs, &timings);
    if (!outputs.ok()) return outputs.status();
    double all = 0, own = 0;
    for (const KernelTiming& timing : timings) {
      all += timing.ms;
      own += timing.label == kName ? timing.ms : 0;
    }
    best = std::min(best, own > 0 ? own : all);
  }
  return std::max(best, 1e-6);
}

}  // namespace

double Roofline::SecondsFor(const Work& work) const {
  return std::max(work.flops / flops_per_second,
                  (work.bytes_read + work.bytes_written) / bytes_per_second);
}

absl::StatusOr<Roofline> MeasureRoofline(Backend* backend, const CompileOptions& options) {
  // The reference back end is slow.
  const bool slow = absl::StartsWith(backend->name(), "reference");
  const int64_t size = slow ? 256 : backend->name() == "cuda" ? 4096 : 1024;
  const int64_t elements = slow ? 1 << 20 : backend->name() == "cuda" ? 1 << 27 : 1 << 24;
  Roofline roofline;
  Work work;
  auto ms = BestMs(backend, options, "matmul",
                   {{DType::kF32, {size, size}}, {DType::kF32, {size, size}}}, &work);
  if (!ms.ok()) return ms.status();
  roofline.flops_per_second = work.flops / (*ms * 1e-3);
  ms = BestMs(backend, options, "relu", {{DType::kF32, {elements}}}, &work);
  if (!ms.ok()) return ms.status();
  roofline.bytes_per_second = (work.bytes_read + work.bytes_written) / (*ms * 1e-3);
  return roofline;
}

}  // namespace lemma::api
