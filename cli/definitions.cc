#include "cli/definitions.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "cli/jump.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

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

// The same but for elements that are infinite or NaN on one side.
bool AgreesWhereFinite(const Tensor& actual, const Tensor& expected, double relative_tolerance) {
  if (actual.type() != expected.type() || !IsFloat(actual.dtype())) return false;
  const double allowed = relative_tolerance * Compare(actual, expected, relative_tolerance).scale;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.AtDouble(i), e = expected.AtDouble(i);
    if (std::isfinite(a) && std::isfinite(e) && std::abs(a - e) > allowed) return false;
  }
  return true;
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
  // Each output for itself: one that moves much says nothing of another.
  const std::vector<double> tolerances = RelativeTolerances(graph_);
  bool jumps = true, overflows = is_graph;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (Compare(outputs[i], outputs_[i], tolerances[i]).within) continue;
    const Difference own = Compare(outputs_[i], (*reals)[i], tolerances[i]);
    const double off = Compare(outputs[i], (*reals)[i], tolerances[i]).largest;
    jumps = jumps && !own.within && std::isfinite(own.largest) && off <= kAsFar * own.largest;
    overflows = overflows && AgreesWhereFinite(outputs[i], outputs_[i], tolerances[i]);
  }
  if (jumps) return "rounding between operators moves the definitions as far";
  absl::StatusOr<bool> nearby = AgreesNearby(graph_, executable_.get(), run, inputs_);
  if (!nearby.ok()) return nearby.status();
  if (*nearby) return "rounding took a value across a jump, on inputs nearby they agree";
  if (!overflows) return "";
  absl::StatusOr<bool> nears = NearsOverflow(graph_, inputs_, threads_);
  if (!nears.ok()) return nears.status();
  return *nears ? "finite values agree, whether sums near the largest float overflow depends on "
                  "their order"
                : "";
}

}  // namespace lemma::cli
