#include "cli/definitions.h"

#include <cmath>
#include <limits>
#include <utility>

#include "cli/jump.h"
#include "runtime/reference/reference.h"

namespace lemma::cli {
namespace {

bool IsNearOverflow(absl::Span<const Tensor> reals) {
  constexpr double kNear = std::numeric_limits<float>::max() / 1024.0;
  for (const Tensor& t : reals) {
    for (double x : t.ToDoubles()) {
      if (std::isfinite(x) && std::abs(x) > kNear) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Definitions> Definitions::Run(const Graph& graph, absl::Span<const Tensor> inputs,
                                             int threads) {
  Definitions result(graph, inputs, threads);
  CompileOptions options;
  options.threads = threads;
  auto executable = MakeReferenceBackend()->Compile(graph, options);
  if (!executable.ok()) return executable.status();
  result.executable_ = *std::move(executable);
  auto outputs = result.executable_->Run(inputs);
  if (!outputs.ok()) return outputs.status();
  result.outputs_ = *std::move(outputs);
  return result;
}

absl::StatusOr<Definitions::Verdict> Definitions::Judge(Executable* run,
                                                        absl::Span<const Tensor> outputs,
                                                        bool is_graph) {
  Verdict verdict;
  verdict.difference = CompareOutputs(graph_, outputs, outputs_);
  if (verdict.difference.ok) return verdict;
  absl::StatusOr<bool> excused = IsExcused(run, outputs, is_graph);
  if (!excused.ok()) return excused.status();
  verdict.agrees = *excused;
  return verdict;
}

absl::StatusOr<bool> Definitions::IsExcused(Executable* run, absl::Span<const Tensor> outputs,
                                            bool is_graph) {
  CompileOptions options;
  options.threads = threads_;
  auto exact = MakeReferenceBackend(BetweenOperators::kUnrounded)->Compile(graph_, options);
  if (!exact.ok()) return exact.status();
  auto reals = (*exact)->Run(inputs_);
  if (!reals.ok()) return reals.status();
  if (is_graph && IsNearOverflow(*reals)) return true;
  const double own = Distance(graph_, outputs_, *reals);
  if (own > 1 && std::isfinite(own) && Distance(graph_, outputs, *reals) <= kAsFar * own) {
    return true;
  }
  return AgreesNearby(graph_, executable_.get(), run, inputs_);
}

}  // namespace lemma::cli
