// The search of an optimization, with the rules and costs that its options ask for.
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

// What one call of Optimize works with, and its result so far.
struct SearchRun {
  explicit SearchRun(const OptimizeOptions& o);

  const OptimizeOptions options;
  const ExecutionOptions execution;  // as the objective wants it
  RulesFile file;  // with the rules of mutants, or of the certificate that is replayed
  std::vector<CertificateMutant> mutants;  // where these rules come from
  optimizer::RewriteFilter filter;
  std::unique_ptr<RuleSet> rules;
  std::unique_ptr<RewriteSource> usable;  // those of the rules that the filter accepts
  Costs costs;
  std::unique_ptr<KernelMeasurer> planner;  // of memory, where costs are analytic
  // The memory limit for what the cost model calls a peak, and for what the plan does; 0: none.
  int64_t peak_limit = 0, plan_limit = 0;
  OptimizeResult result;
  bool was_interrupted = false;  // the search or the look for less memory; not what follows
  // The deadline of what follows them.
  Deadline DeadlineAfterSearch() const;

  using Stage = OptimizeProgress::Stage;
  // Begins a stage, and reports it.
  void Begin(Stage next);
  // Reports what `fill` says of the stage.
  void Tell(const std::function<void(OptimizeProgress*)>& fill) const;

 private:
  Stage stage_ = Stage::kRules;
};

// The execution that the options ask for: memory is used again at once where it matters.
ExecutionOptions ExecutionOf(const OptimizeOptions& options);
// Whether it is for a GPU that is not here.
bool DeviceIsAbsent(const OptimizeOptions& options);

// Reads the rules and, by a search or the certificate to be replayed, fills run->result but for
// what is accepted and what follows from that.
absl::Status FindResult(const Graph& input, SearchRun* run);

// Repeats the search of FindResult with the costs as the database has them now.
absl::Status SearchAgain(const Graph& input, SearchRun* run);

// Keeps the times of kernels in runs of what was found, if it did not pay. Returns whether to
// search again: the times were news, nothing was accepted, and no limit of time is in the way.
absl::StatusOr<bool> Calibrate(SearchRun* run);

// Explains options.why_not in the input and in `graph`, which the search led to.
absl::Status ExplainWhyNot(const Graph& input, const Graph& graph, SearchRun* run);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_
