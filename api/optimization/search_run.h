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

// The data of one call of Optimize, and its result so far.
struct SearchRun {
  explicit SearchRun(const OptimizeOptions& o);

  const OptimizeOptions options;
  const ExecutionOptions execution;  // adjusted to the objective (ExecutionOf)
  RulesFile file;  // the rules, including mutants and those of a replayed certificate
  std::vector<CertificateMutant> mutants;  // the origin of each rule in `file` that is a mutant
  optimizer::RewriteFilter filter;
  std::unique_ptr<RuleSet> rules;
  std::unique_ptr<RewriteSource> usable;  // the rules that the filter accepts
  Costs costs;
  std::unique_ptr<KernelMeasurer> planner;  // plans memory if costs are analytic
  // The memory limit, restated for the peak of the cost model and for the peak of the back end's
  // plan, which leave out some memory (SetLimits). 0: no limit.
  int64_t peak_limit = 0, plan_limit = 0;
  OptimizeResult result;
  bool was_interrupted = false;  // during the search or the memory reduction
  // The deadline for the work after search and memory reduction.
  Deadline DeadlineAfterSearch() const;

  using Stage = OptimizeProgress::Stage;
  // Begins a stage and reports it.
  void Begin(Stage next);
  // Reports progress in the stage; `fill` sets the fields.
  void Tell(const std::function<void(OptimizeProgress*)>& fill) const;

 private:
  Stage stage_ = Stage::kRules;
};

// The execution that the options ask for. If the objective includes memory, reuse_late is false.
ExecutionOptions ExecutionOf(const OptimizeOptions& options);
// Whether the execution is for a GPU that is not present.
bool DeviceIsAbsent(const OptimizeOptions& options);

// Reads the rules, and searches or replays a certificate. Fills run->result, except for `accepted`
// and what is computed from it.
absl::Status FindResult(const Graph& input, SearchRun* run);

// Repeats the search of FindResult with the current costs of the database.
absl::Status SearchAgain(const Graph& input, SearchRun* run);

// If a contender was not better, stores the times of its kernels in the cost database. Returns
// whether to search again: some times were new, nothing was accepted, there is no time limit, and
// the search was not cancelled.
absl::StatusOr<bool> Calibrate(SearchRun* run);

// With options.explain: prices the rules that match in the result `graph`.
absl::Status FindAlternatives(const Graph& graph, SearchRun* run);

// Explains where the rule options.why_not was not applied, in the input and in the result `graph`.
absl::Status ExplainWhyNot(const Graph& input, const Graph& graph, SearchRun* run);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_
