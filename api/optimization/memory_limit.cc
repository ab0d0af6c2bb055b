#include "api/optimization/memory_limit.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "optimizer/memory/rematerialization.h"

namespace lemma::api {
namespace {

// The bytes that the input's executable plans; nullopt if it has opaque operators, because nobody
// knows then.
absl::StatusOr<std::optional<int64_t>> PlannedBytes(const Graph& input, const SearchRun& run) {
  auto backend = MakeBackend(run.execution.backend, run.execution.backend_options);
  if (!backend.ok()) return backend.status();
  CompileOptions compile;
  compile.threads = run.execution.threads;
  if (DeviceIsAbsent(run.options)) {
    auto plan = (*backend)->Plan(input, compile);
    if (!plan.ok()) return plan.status();
    return plan->memory.planned_bytes;
  }
  auto executable = (*backend)->Compile(input, compile);
  if (absl::IsUnimplemented(executable.status())) return std::optional<int64_t>();
  if (!executable.ok()) return executable.status();
  return (*executable)->memory().planned_bytes;
}

}  // namespace

absl::Status SetLimits(const Graph& input, SearchRun* run) {
  auto planned = PlannedBytes(input, *run);
  if (!planned.ok()) return planned.status();
  const int64_t memory_limit = run->options.objective.memory_limit;
  const auto limit = [&](int64_t peak) {
    return *planned ? std::max<int64_t>(1, memory_limit + peak - **planned) : memory_limit;
  };
  auto cost = run->costs.model->CostOf(input);
  if (!cost.ok()) return cost.status();
  run->peak_limit = run->plan_limit = limit(cost->peak_bytes());
  // Analytic costs have no plan, but the back end may have one.
  if (run->costs.measurer != nullptr) return absl::OkStatus();
  run->memory_measurer = MakeMeasurer(run->execution);
  if (run->memory_measurer == nullptr) return absl::OkStatus();
  auto plan = run->memory_measurer->Plan(input);
  if (absl::IsUnimplemented(plan.status())) return absl::OkStatus();
  if (!plan.ok()) return plan.status();
  run->plan_limit = limit(plan->peak_bytes);
  return absl::OkStatus();
}

absl::StatusOr<Contender> KeptToLimit(Contender contender, SearchRun* run) {
  KernelMeasurer* planner =
      run->costs.measurer != nullptr ? run->costs.measurer.get() : run->memory_measurer.get();
  if (run->peak_limit == 0 || planner == nullptr) return contender;
  if (!run->options.keeps_barriers) return contender;
  run->Begin(SearchRun::Stage::kMemory);
  // As much time again as the search had, which may have used up all of it.
  const Deadline deadline = run->options.deadline.Again();
  auto on_progress = [&](int64_t peak_bytes) {
    run->Tell([&](OptimizeProgress* p) { p->peak_bytes = peak_bytes; });
    return !deadline.interrupted();
  };
  // Kernels of another graph may need more memory for themselves than the input's kernels, from
  // which the limit was computed. Then a lower limit is tried.
  constexpr int kAttempts = 3;
  const int64_t memory_limit = run->options.objective.memory_limit;
  int64_t limit = run->plan_limit;
  Contender kept = contender;
  std::optional<int64_t> least;  // bytes that `kept` plans, of the attempts so far
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto found = optimizer::Rematerialize(contender.graph, limit, planner, run->costs.model.get(),
                                          on_progress, deadline);
    run->was_interrupted = run->was_interrupted || deadline.interrupted();
    if (absl::IsUnimplemented(found.status()) || absl::IsCancelled(found.status())) break;
    if (!found.ok()) return found.status();
    auto planned = PlannedBytes(found->graph, *run);
    if (!planned.ok()) return planned.status();
    // An attempt that the deadline cut short may be worse than the one before.
    if (!*planned || !least || **planned < *least) {
      least = *planned;
      kept.graph = std::move(found->graph);
      kept.recomputed = found->recomputed;
      kept.offloaded = found->offloaded;
    }
    if (!*planned || **planned <= memory_limit) break;
    const int64_t over = **planned - memory_limit;
    // A graph that is far above the limit is out of reach; a lower target would not help.
    if (over > memory_limit / 8 || over >= limit) break;
    limit -= over;
  }
  return kept;
}

}  // namespace lemma::api
