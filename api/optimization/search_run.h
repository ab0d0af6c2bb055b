// Runs the search of an optimization with the rules and costs that its options select. Internal to
// Optimize (api/optimization/optimize.cc).
#ifndef LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_
#define LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/optimization/costs.h"
#include "api/optimize.h"
#include "api/rules/rules_file.h"
#include "graph/graph.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

// The state of one call of Optimize, and its result so far.
struct SearchRun {
  explicit SearchRun(const OptimizeOptions& o);

  const OptimizeOptions options;
  const ExecutionOptions execution;  // adjusted to the objective (ExecutionOf)
  RulesFile file;  // the rules, and corrected mutants: found, or those of a replayed certificate
  std::vector<CertificateMutant> mutants;  // of each rule in `file` that is a corrected mutant
  optimizer::RewriteFilter filter;
  // The rules of `file`, and those of them that the filter accepts. Null before the search, and for
  // a replay.
  std::unique_ptr<RuleSet> rules;
  std::unique_ptr<RewriteSource> usable;
  Costs costs;  // empty for a replay
  // Plans memory if costs are analytic; null without a memory limit or without such a planner.
  std::unique_ptr<KernelMeasurer> planner;
  // The memory limit in bytes, restated for the peak of the cost model and for the peak of the back
  // end's plan, which leave out some memory (SetLimits). 0: no limit.
  int64_t peak_limit = 0, plan_limit = 0;
  OptimizeResult result;
  bool was_interrupted = false;  // during the search or the memory reduction
  // The deadline for the work after search and memory reduction: options.deadline, without an
  // interruption that has ended one of these.
  Deadline DeadlineAfterSearch() const;

  using Stage = OptimizeProgress::Stage;
  // Begins a stage and reports it.
  void Begin(Stage next);
  // Reports progress in the current stage; `fill` sets the fields besides `stage` and `so_far`.
  void Tell(const std::function<void(OptimizeProgress*)>& fill) const;

 private:
  Stage stage_ = Stage::kRules;
};

// The execution that the options ask for. If the objective includes memory, reuse_late is false.
ExecutionOptions ExecutionOf(const OptimizeOptions& options);
// Whether the execution is for a GPU that need not be present: options.costs.device names one
// whose costs the database has.
bool DeviceIsAbsent(const OptimizeOptions& options);

// Reads the rules, and searches or replays a certificate. Fills run->result, except for `accepted`
// and what is computed from it. FailedPrecondition if a selected rule is not proved and graphs are
// to be executed (options.execute); errors of reading have the file's name.
absl::Status FindResult(const Graph& input, SearchRun* run);

// Repeats the search of FindResult with the current costs of the database and the same rules.
absl::Status SearchAgain(const Graph& input, SearchRun* run);

// Stores the times of kernels in contenders that were not better (Acceptance::in_graph) in the cost
// database. Returns whether to search again: some times were new, nothing was accepted, there is no
// time limit, and the search was not cancelled.
absl::StatusOr<bool> Calibrate(SearchRun* run);

// With options.explain: sets run->result.alternatives, for the result `graph`.
absl::Status FindAlternatives(const Graph& graph, SearchRun* run);

// With options.why_not: sets run->result.why_not to the reasons why that rule was not applied in
// the input and in the result `graph`.
absl::Status ExplainWhyNot(const Graph& input, const Graph& graph, SearchRun* run);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_
