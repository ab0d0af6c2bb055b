// The search of `lemma optimize`, with the rules and costs that the flags ask for.
#ifndef LEMMA_CLI_OPTIMIZE_SEARCH_H_
#define LEMMA_CLI_OPTIMIZE_SEARCH_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/rules/rules_file.h"
#include "base/deadline.h"
#include "cli/interrupt.h"
#include "cli/optimize.h"
#include "cli/progress_line.h"
#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "pet/correctors/candidates.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/certificate.h"
#include "runtime/measure.h"

namespace lemma::cli {

// The cost model and what it refers to.
struct Costs {
  std::unique_ptr<KernelMeasurer> measurer;
  std::unique_ptr<CostDb> db;
  std::unique_ptr<CostModel> model;
};

// As --cost, --cost-db and --device say.
absl::StatusOr<Costs> MakeCosts(const OptimizeFlags& flags, const Deadline& deadline,
                                ProgressLine* progress);

// What a graph costs, or may cost, in nanoseconds, for PET.
CostFn Nanoseconds(CostModel* model, bool estimate);

// What a search works with.
struct Setup {
  api::RulesFile file;  // with those of --pet, or of the certificate that is replayed
  std::vector<CertificateMutant> mutants;  // where these come from
  RewriteFilter filter;
  std::unique_ptr<RuleSet> rules;
  std::unique_ptr<RewriteSource> usable;  // of them
  ProgressLine progress;
  Costs costs;
  std::unique_ptr<KernelMeasurer> planner;  // of memory, where costs are analytic
  // --memory-limit for what the cost model calls a peak, and for what the plan does; 0: none
  int64_t peak_limit = 0, plan_limit = 0;

  // When the whole command has to end: --seconds, and Ctrl-C while a search runs.
  const Deadline deadline;

  explicit Setup(const OptimizeFlags& flags)
      : progress(flags.common.json),
        deadline(Deadline::After(flags.seconds, &InterruptScope::Flag())) {}
};

// What the search, or the certificate to be replayed, leads to: all of the outcome but what is
// accepted. Of `setup` a replay leaves all but the rules' file and the filter as it is.
absl::Status FindResult(const OptimizeFlags& flags, const Graph& input, Setup* setup,
                        Outcome* outcome);

// Whether the output is ONNX, which has no barriers: what is computed again would be computed once
// when it is read again.
bool LosesBarriers(const std::string& output);

// `graph` with values computed again so that it keeps to --memory-limit, or as near to it as was
// found; as it is if there is no limit, it keeps to it, the back end does not tell lifetimes, or
// the output would not keep it (LosesBarriers).
absl::StatusOr<api::Contender> KeptToLimit(const OptimizeFlags& flags, api::Contender contender,
                                           Setup* setup);

// Keeps what runs of what was found tell of kernels, if it did not pay. Whether to search again:
// that was news, nothing was accepted, and no limit of time is in the way.
absl::StatusOr<bool> Learn(const OptimizeFlags& flags, Setup* setup, Outcome* outcome);

// Repeats the search of FindResult with the costs as the database has them now.
absl::Status SearchAgain(const OptimizeFlags& flags, const Graph& input, Setup* setup,
                         Outcome* outcome);

// Answers --why-not, if that is asked, after a search. `result`: what the search led to.
absl::Status ExplainWhyNot(const OptimizeFlags& flags, Setup* setup, const Graph& input,
                           const Graph& result, Outcome* outcome);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_SEARCH_H_
