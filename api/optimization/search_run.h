// Runs the search of an optimization with the rules and costs that its options select. Internal to
// Optimize (api/optimization/optimize.cc).
#ifndef LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_
#define LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

// An optimized body: `record` and `label` of `body` are not set.
struct BodyResult {
  Graph graph;
  Certificate certificate;  // without hashes of payloads
  OptimizedBody body;
};

// The state of one call of Optimize, and its result so far.
struct SearchRun {
  // `steps`: with options.replay, the certificate whose steps are repeated.
  // Absent: the certificate is read from the file options.replay.
  explicit SearchRun(const OptimizeOptions& o, std::optional<Certificate> steps = std::nullopt);

  const OptimizeOptions options;
  const ExecutionOptions execution;  // adjusted to the objective (ExecutionOf)
  // The rules; also corrected mutants, which AddMutants found or which a replayed certificate has.
  RulesFile file;
  std::optional<Certificate> replayed;  // with options.replay
  // For the certificate: an entry about each rule in `file` that is a corrected mutant.
  std::vector<CertificateMutant> mutants;
  optimizer::RewriteFilter filter;
  // `rules`: the rules of `file`. `usable`: the part of `rules` that the filter accepts; it refers
  // to `rules`. Both are null before the search, and for a replay.
  std::unique_ptr<RuleSet> rules;
  std::unique_ptr<RewriteSource> usable;
  Costs costs;  // empty for a replay
  // Plans memory if costs are analytic. Null without a memory limit, with measured costs, or if the
  // back end makes no plans.
  std::unique_ptr<KernelMeasurer> memory_measurer;
  // The memory limit in bytes, converted into a limit on the cost model's peak and a limit on the
  // peak of the back end's plan. These peaks leave out some memory (SetLimits). 0: no limit.
  int64_t peak_limit = 0, plan_limit = 0;
  // By payload of a loop and by the hash of its body's graph: what OptimizeBodies
  // (loop_bodies.h) found, so that contenders with the same loop share it.
  std::map<std::pair<std::string, uint64_t>, std::optional<BodyResult>> bodies;
  bool tried_bodies = false;  // whether the input with optimized bodies was a contender
  OptimizeResult result;
  bool was_interrupted = false;  // during the search or the memory reduction
  // The deadline for the work after search and memory reduction: options.deadline, but without the
  // interruption if an interruption has ended the search or the memory reduction.
  Deadline DeadlineAfterSearch() const;

  using Stage = OptimizeProgress::Stage;
  // Begins a stage and reports it.
  void Begin(Stage next);
  Stage stage() const { return stage_; }
  // Reports progress in the current stage; `fill` sets the fields besides `stage` and `so_far`.
  void Tell(const std::function<void(OptimizeProgress*)>& fill) const;

 private:
  Stage stage_ = Stage::kRules;
};

// The execution that the options ask for. If the objective includes memory, reuse_late is false; if
// DeviceIsAbsent, `tiles` is kModelTiles.
ExecutionOptions ExecutionOf(const OptimizeOptions& options);
// Whether the optimization is for a GPU that need not be present: options.costs.device is set, and
// the back end is one for CUDA.
bool DeviceIsAbsent(const OptimizeOptions& options);

// Reads the rules, and searches or replays a certificate. Fills run->result, except for `accepted`
// and the members that depend on it. FailedPrecondition if a selected rule is not proved, graphs
// are to be executed (options.execute), and options.allow_unproved is false; messages about a file
// that cannot be read contain its name.
absl::Status FindResult(const Graph& input, SearchRun* run);

// Repeats the search of FindResult with the current costs of the database and the same rules.
absl::Status SearchAgain(const Graph& input, SearchRun* run);

// Stores the times of kernels in contenders that were not better (Acceptance::in_graph) in the cost
// database. Returns whether to search again: some times were new, nothing was accepted, there is no
// time limit, and the search was not cancelled.
absl::StatusOr<bool> LearnKernelTimes(SearchRun* run);

// With options.explain, sets run->result.alternatives for the result `graph`; otherwise does
// nothing.
absl::Status FindAlternatives(const Graph& graph, SearchRun* run);

// With options.why_not, sets run->result.why_not to the reasons why this rule was not applied in
// the input and in the result `graph`; otherwise does nothing.
absl::Status ExplainWhyNot(const Graph& input, const Graph& graph, SearchRun* run);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_SEARCH_RUN_H_
