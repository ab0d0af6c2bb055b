#include "cli/definitions.h"

#include <cmath>
#include <utility>

#include "cli/jump.h"
#include "runtime/reference/reference.h"

namespace lemma::cli {

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
                                                        absl::Span<const Tensor> outputs) {
  Verdict verdict;
  verdict.difference = CompareOutputs(graph_, outputs, outputs_);
  if (verdict.difference.ok) return verdict;
  absl::StatusOr<bool> jump = IsAJump(run, outputs);
  if (!jump.ok()) return jump.status();
  verdict.agrees = *jump;
  return verdict;
}

absl::StatusOr<bool> Definitions::IsAJump(Executable* run, absl::Span<const Tensor> outputs) {
  CompileOptions options;
  options.threads = threads_;
  auto exact = MakeReferenceBackend(BetweenOperators::kUnrounded)->Compile(graph_, options);
  if (!exact.ok()) return exact.status();
  auto reals = (*exact)->Run(inputs_);
  if (!reals.ok()) return reals.status();
  const double own = Distance(graph_, outputs_, *reals);
  if (own > 1 && std::isfinite(own) && Distance(graph_, outputs, *reals) <= kAsFar * own) {
    return true;
  }
  return AgreesNearby(graph_, executable_.get(), run, inputs_);
}

}  // namespace lemma::cli
