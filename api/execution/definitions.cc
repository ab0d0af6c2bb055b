#include "api/execution/definitions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/execution/discontinuity.h"
#include "base/status_macros.h"
#include "runtime/overflow.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma::api {
namespace {

// How an output differs from another by more than the tolerance.
struct Change {
  double largest = 0;  // the largest difference
  int64_t count = 0;   // of elements
};

Change ChangeOf(const Tensor& actual, const Tensor& expected, double tolerance) {
  const Difference difference = Compare(actual, expected, tolerance);
  if (difference.within) return {};
  Change change = {difference.largest, 0};
  const double allowed = IsFloat(expected.dtype()) ? tolerance * difference.scale : 0;
  for (int64_t i = 0; std::isfinite(difference.largest) && i < expected.size(); ++i) {
    change.count += std::abs(actual.AtDouble(i) - expected.AtDouble(i)) > allowed ? 1 : 0;
  }
  return change;
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
  verdict.difference = CompareOutputs(graph_, outputs, outputs_, executable_->findings());
  if (verdict.difference.ok) return verdict;
  absl::StatusOr<std::string> excuse = Excuse(run, outputs, is_graph);
  if (!excuse.ok()) return excuse.status();
  verdict.difference.excuse = *std::move(excuse);
  verdict.agrees = !verdict.difference.excuse.empty();
  return verdict;
}

absl::StatusOr<bool> Definitions::MovesAsFar(absl::Span<const Tensor> outputs,
                                             absl::Span<const double> tolerances) {
  constexpr int kTimes = 4;
  constexpr double kLastBits = 0x1p-17;
  std::vector<Change> off, moved(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    off.push_back(ChangeOf(outputs[i], outputs_[i], tolerances[i]));
    if (!std::isfinite(off[i].largest)) return false;
  }
  if (std::none_of(inputs_.begin(), inputs_.end(),
                   [](const Tensor& t) { return IsFloat(t.dtype()); })) {
    return false;
  }
  for (int k = 0; k < kTimes; ++k) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> near, NearInputs(inputs_, k, kLastBits));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> there, executable_->Run(near));
    bool all = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Change move = ChangeOf(there[i], outputs_[i], tolerances[i]);
      if (std::isfinite(move.largest)) {
        moved[i] = {std::max(moved[i].largest, move.largest), std::max(moved[i].count, move.count)};
      }
      all = all && off[i].largest <= kMostTimesAsFar * moved[i].largest &&
            static_cast<double>(off[i].count) <=
                kMostTimesAsFar * static_cast<double>(moved[i].count);
    }
    if (all) return true;
  }
  return false;
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
  absl::StatusOr<bool> moves = MovesAsFar(outputs, tolerances);
  if (!moves.ok()) return moves.status();
  if (*moves) return "the definitions move as far if inputs change in their last bits";
  if (!overflows) return "";
  absl::StatusOr<bool> nears = NearsOverflow(graph_, inputs_, threads_);
  if (absl::IsUnimplemented(nears.status())) return "";  // not every operator has a definition
  if (!nears.ok()) return nears.status();
  return *nears ? "finite values agree, whether sums near the largest float overflow depends on "
                  "their order"
                : "";
}

}  // namespace lemma::api
