// Optimizing a model: a search for a graph that computes the same and costs less.
//
//   auto model = api::LoadModel("model.onnx");
//   auto inputs = api::RandomInputs(model->graph, /*seed=*/1, /*integer_range=*/2);
//   auto result = api::Optimize(model->graph, *inputs, {});
//
// docs/example_optimize.cc is a whole program.
#ifndef LEMMA_API_OPTIMIZE_H_
#define LEMMA_API_OPTIMIZE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/optimization/acceptance.h"
#include "api/optimization/certificate_file.h"
#include "api/optimization/costs.h"
#include "api/optimization/why_not.h"
#include "base/deadline.h"
#include "base/file.h"
#include "optimizer/cost/objective.h"
#include "optimizer/search/rewrite_filter.h"
#include "optimizer/search/search.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

struct OptimizeResult;

// What Optimize is doing: reported when a stage begins, and now and then while it lasts.
struct OptimizeProgress {
  enum class Stage {
    kRules,       // the rules are read; so_far->unproved is known
    kMutants,     // looks for corrected mutants of parts
    kSearch,      // ended by an interruption: the best graph so far is taken
    kAcceptance,  // constants are folded; contenders are executed and timed
    kMemory,      // looks for less memory; ended by an interruption as the search is
    kResult,      // the certificate, and why a rule was not applied
  };
  Stage stage = Stage::kRules;
  bool begins = false;                              // the stage; then the fields below say nothing
  const OptimizeResult* so_far = nullptr;           // lives during the call
  std::string measured;                             // the kernel that is measured next; "": none
  std::optional<optimizer::SearchProgress> search;  // kSearch
  double seconds = 0;                               // kSearch: since the first search began
  int64_t peak_bytes = 0;                           // kMemory
};

// The search strategies (optimizer/strategies/strategies.inc), the default first, and what each
// does, in a few words.
std::vector<std::string> SearchNames();
std::vector<std::string> SearchDescriptions();

struct OptimizeOptions {
  // Rules.
  std::string rules;                 // a file; "": the built-in ones
  std::vector<std::string> disable;  // names of rules not to use
  std::vector<std::string> only;     // names of the only rules to use; empty: all
  FloatContract numerics = FloatContract::kReassociates;  // the most that a rule may change
  bool allow_unproved = false;  // use rules whose proof is missing or out of date, too
  bool pet = false;             // rewrite parts by corrected mutants of theirs, too (docs/pet.md)

  // The search (docs/search.md).
  std::string search = SearchNames().front();  // one of SearchNames()
  int64_t budget = 5000;                       // graphs to generate
  double alpha = 1.05;             // explores graphs that cost less than this times the best
  int64_t nodes = 6000;            // operators that saturation keeps at once
  optimizer::Objective objective;  // what becomes less; some strategies know time only
  bool price_steps = false;        // say what the graph costs after each step
  CostOptions costs;
  std::string replay;  // a certificate whose steps are applied instead of a search; "": none

  // The execution of what was found.
  bool execute = true;         // false: the result is the search's, and leaves out unproved rules
  ExecutionOptions execution;  // an objective with memory uses memory again at once
  int64_t runs = 15;           // of input and contender each, at least 3; none for a replay
  bool keeps_barriers = true;  // false for an ONNX file: it cannot say that a value is recomputed

  // What is said of the result.
  bool certify = true;
  std::string why_not;  // a rule: where it was not applied, and why; "": none

  // Ends the search. What follows does the least it can once this has passed. An interruption ends
  // the search, too, and what was found is judged all the same; a later one ends all of it.
  Deadline deadline;
  std::function<void(const OptimizeProgress&)> on_progress;

  // InvalidArgument if a value is out of range, or options exclude each other. The message names
  // the option (api/models/option_error.h).
  absl::Status Check() const;
  // Whether input and result are timed.
  bool Times() const { return costs.device.empty() && replay.empty(); }
};

// "exact", "reassociate", "real", as reports and flags call them.
const char* NumericsName(FloatContract numerics);
// "time", "memory", "product", "pareto".
const char* GoalName(optimizer::Objective::Goal goal);

// What was found.
struct OptimizeResult {
  std::vector<optimizer::UnprovedRule> unproved;  // rules that were asked for, used or not
  optimizer::SearchResult search;                 // the last search
  double search_seconds = 0;                      // of a second search too, with calibrated costs
  double best_seconds = 0;                        // until the best graph was found
  // The graph to use, with times and differences; nothing without `execute`.
  Acceptance accepted;
  int64_t calibrated = 0;  // kernels whose costs were corrected, since what was found did not pay
  // How the input became accepted.graph, but for what StageOptimized adds.
  std::optional<Certificate> certificate;
  std::optional<WhyNotReport> why_not;

  // False: a memory limit was given, and even the input exceeds it, so that there is no result.
  bool fits() const { return !accepted.least_bytes.has_value(); }
};

// Searches, executes what it found beside the input on `inputs`, and takes what pays (Accept in
// api/optimization/acceptance.h); where nothing does, searches once more with costs that these runs
// have corrected. NotFound or InvalidArgument, before anything is executed, for a wrong option,
// file or name of a rule. FailedPrecondition if a rule that is asked for is not proved, before the
// search; so_far->unproved names it. Cancelled if it was interrupted before there was a result.
absl::StatusOr<OptimizeResult> Optimize(const Graph& input, absl::Span<const Tensor> inputs,
                                        const OptimizeOptions& options);

// What executes both graphs: the back end of the options or, for a GPU that is not here, the CPU.
absl::StatusOr<std::unique_ptr<Backend>> BackendFor(const OptimizeOptions& options);

// The files of a result that fits: the model at `path`, whose ending says its format, and its
// certificate at `certificate` ("": none). `input` is the model as it was read, `record` how.
absl::StatusOr<std::vector<StagedFile>> StageOptimized(Model input, const InputRecord& record,
                                                       const OptimizeResult& result,
                                                       const std::string& path,
                                                       const std::string& certificate);
// The same, and commits them: all are written, or none.
absl::Status SaveOptimized(Model input, const InputRecord& record, const OptimizeResult& result,
                           const std::string& path, const std::string& certificate);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZE_H_
