#include "api/execution/definitions.h"

#include <cmath>
#include <utility>

#include "api/execution/discontinuity.h"
#include "runtime/overflow.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma::api {
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
  verdict.difference = CompareOutputs(graph_, outputs, outputs_, executable_->findings());
  if (verdict.difference.ok) return verdict;
  absl::StatusOr<std::string> excuse = Excuse(run, outputs, is_graph);
  if (!excuse.ok()) return excuse.status();
  verdict.difference.excuse = *std::move(excuse);
  verdict.agrees = !verdict.difference.excuse.empty();
  return verdict;
}

absl::StatusOr<std::string> Definitions::Excuse(Executable* run, absl::Span<const Tensor> outputs,
                                                bool is_graph) {
  CompileOptions options;
  options.threads = threads_;
  auto exact = MakeReferenceBackend(BetweenOperators::kUnrounded)->Compile(graph_, options);
  if (!exact.ok()) return exact.status();
  auto reals = (*exact)->Run(inputs_);
  if (!reals.ok()) return reals.status();
  // Each output is judged separately: a large change of one says nothing about another.
  const std::vector<double> tolerances = RelativeTolerances(graph_, executable_->findings());
  bool rounding_moves = true, overflows = is_graph;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (Compare(outputs[i], outputs_[i], tolerances[i]).within) continue;
    const Difference own = Compare(outputs_[i], (*reals)[i], tolerances[i]);
    const double off = Compare(outputs[i], (*reals)[i], tolerances[i]).largest;
    rounding_moves = rounding_moves && !own.within && std::isfinite(own.largest) &&
                     off <= kMostTimesAsFar * own.largest;
    overflows = overflows && AgreesWhereFinite(outputs[i], outputs_[i], tolerances[i]);
  }
  if (rounding_moves) return "rounding between operators moves the definitions as far";
  absl::StatusOr<bool> nearby = AgreesNearby(graph_, executable_.get(), run, inputs_);
  if (!nearby.ok()) return nearby.status();
  if (*nearby) return "rounding took a value across a discontinuity; on inputs nearby they agree";
  if (!overflows) return "";
  absl::StatusOr<bool> nears = NearsOverflow(graph_, inputs_, threads_);
  if (absl::IsUnimplemented(nears.status())) return "";  // not every operator has a definition
  if (!nears.ok()) return nears.status();
  return *nears ? "finite values agree, whether sums near the largest float overflow depends on "
                  "their order"
                : "";
}

}  // namespace lemma::api
