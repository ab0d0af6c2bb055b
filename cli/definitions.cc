#include "cli/definitions.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "cli/jump.h"
#include "runtime/reference/reference.h"

namespace lemma::cli {
namespace {

// Whether a value of the graph, between its operators too, is within 2^10 of the largest float.
absl::StatusOr<bool> NearsOverflow(const Graph& graph, absl::Span<const Tensor> inputs,
                                   int threads) {
  constexpr double kNear = std::numeric_limits<float>::max() / 1024.0;
  absl::flat_hash_map<Value, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const NodePtr& node : graph.nodes()) {
    if (node->has_payload()) values[Value(node, 0)] = node->payload();
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    for (const Value& v : node->inputs()) operands.push_back(values.at(v));
    auto results = EvaluateNode(*node, operands, threads);
    if (!results.ok()) return results.status();
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Tensor& result = values[Value(node, k)] = (*results)[k];
      for (int64_t i = 0; IsFloat(result.dtype()) && i < result.size(); ++i) {
        if (std::abs(result.AtDouble(i)) > kNear) return true;
      }
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
  if (is_graph) {
    absl::StatusOr<bool> nears = NearsOverflow(graph_, inputs_, threads_);
    if (!nears.ok() || *nears) return nears;
  }
  const double own = Distance(graph_, outputs_, *reals);
  if (own > 1 && std::isfinite(own) && Distance(graph_, outputs, *reals) <= kAsFar * own) {
    return true;
  }
  return AgreesNearby(graph_, executable_.get(), run, inputs_);
}

}  // namespace lemma::cli
