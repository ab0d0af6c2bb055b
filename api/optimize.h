// Optimizes a model: searches for an equal graph that costs less, and executes it to confirm the
// gain. Code: api/optimization (optimize.cc drives it).
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
#include <map>
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
#include "api/optimization/explanation.h"
#include "api/optimization/why_not.h"
#include "base/deadline.h"
#include "base/file.h"
#include "optimizer/cost/objective.h"
#include "optimizer/cost/sized_cost.h"
#include "optimizer/search/certificate.h"
#include "optimizer/search/rewrite_filter.h"
#include "optimizer/search/search.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

struct OptimizeResult;

// A progress report of Optimize: made at the beginning of each stage, and from time to time during
// it.
struct OptimizeProgress {
  enum class Stage {
    kRules,       // the rules have been read; so_far->unproved is set
    kMutants,     // looks for corrected mutants of parts (docs/pet.md)
    kSearch,      // searches; an interruption ends this stage, with the best graph so far
    kAcceptance,  // folds constants, executes and times contenders
    kMemory,      // reduces memory; an interruption ends this stage, with the reductions so far
    kResult,      // makes the certificate and the report on `why_not`
  };
  Stage stage = Stage::kRules;
  bool begins = false;  // the stage begins now; then only so_far of the fields below is set
  const OptimizeResult* so_far = nullptr;  // valid during the call only
  std::string measured;  // signature of the kernel that is measured next; "": none
  std::optional<optimizer::SearchProgress> search;  // kSearch
  double seconds = 0;                               // kSearch: time spent in searches
  int64_t peak_bytes = 0;                           // kMemory: the peak so far
};

// The names of the search strategies (optimizer/strategies/strategies.inc), the default first.
std::vector<std::string> SearchNames();
// A few words about each strategy, in the same order.
std::vector<std::string> SearchDescriptions();

// How much a search tries: a strategy and its limits.
struct Effort {
  const char* name;
  const char* search;     // OptimizeOptions::search
  int64_t budget, nodes;  // the fields of OptimizeOptions with these names
  const char* help;       // a few words for people
};
// quick, normal (the defaults of OptimizeOptions), deep.
const std::vector<Effort>& Efforts();

struct OptimizeOptions {
  // Rules.
  std::string rules;                 // as in LoadRulesFile (api/rules/rules_file.h); "": built-in
  std::vector<std::string> disable;  // names of rules not to use
  std::vector<std::string> only;     // names of the only rules to use; empty: all
  FloatContract numerics = FloatContract::kReassociates;  // the loosest contract to accept
  bool allow_unproved = false;                            // also use rules without a current proof
  bool pet = false;  // also use corrected mutants of parts as rules (docs/pet.md)

  // `fixed` gives the nodes of a graph that rewrites leave as they are (see LoopsOf), `unfolded`
  // those whose values are not folded (see NodesOf). Empty functions: no nodes.
  std::function<FixedNodes(const Graph&)> fixed, unfolded;

  // The search (docs/search.md).
  std::string search = SearchNames().front();  // one of SearchNames()
  int64_t budget = 5000;                       // graphs to generate
  double alpha = 1.05;             // explores graphs that cost less than alpha times the best
  int64_t nodes = 6000;            // limit on the operators in saturation's e-graph
  optimizer::Objective objective;  // the quantity to reduce; some strategies accept time only
  bool price_steps = false;        // price the graph after each step (RewriteStep::cost)
  CostOptions costs;
  std::string replay;  // a certificate; its steps are applied instead of a search. "": none

  // For a graph with symbolic sizes, and only for it: the sizes at which it is priced and executed.
  // hints[0] has the sizes of `inputs`. A result must be better at hints[0] and must not be slower
  // at the others. Not allowed with `pet` or a memory limit.
  std::vector<optimizer::SizeHint> hints;

  // Execution of the graphs found.
  // False: only searches. No graph is executed or accepted, and unproved rules are not used.
  bool execute = true;
  ExecutionOptions execution;  // an objective with memory sets reuse_late to false
  // True: nothing is executed or measured. The graph of the lowest price is accepted if it gains
  // 1 % or, with memory in the objective, anything. Prices are known costs or estimates
  // (CostOptions::measure_new). Not allowed with unproved rules or a memory limit, because only
  // execution confirms their results.
  bool by_price = false;
  int64_t runs = 15;  // timed runs of input and contender each, at least 3; none with `replay`
  bool keeps_barriers = true;  // false for ONNX output, which cannot express recomputed values

  // Reports on the result.
  bool certify = true;
  std::string why_not;   // a rule: report where it was not applied, and why; "": none
  bool explain = false;  // price each step, and the rules that match in the result; a few seconds

  // When the time is up, the search ends, and the work after it is kept to a minimum. An
  // interruption during the search or the memory reduction ends that stage, and the result is
  // judged as usual. A later interruption ends the whole call.
  Deadline deadline;
  std::function<void(const OptimizeProgress&)> on_progress;

  // InvalidArgument if a value is out of range, or options exclude each other. The message names
  // the option (api/models/option_error.h).
  absl::Status Check() const;
  // Whether input and result are timed.
  bool Times() const { return costs.device.empty() && replay.empty() && !by_price; }
};

// "exact", "reassociate", "real", as reports and flags call them.
const char* NumericsName(FloatContract numerics);
// "time", "memory", "product", "pareto".
const char* GoalName(optimizer::Objective::Goal goal);

// The result of Optimize.
struct OptimizeResult {
  std::vector<optimizer::UnprovedRule> unproved;  // selected rules without a current proof
  optimizer::SearchResult search;                 // the last search
  double search_seconds = 0;                      // includes a second search with calibrated costs
  double best_seconds = 0;  // from the start of the search until the best graph was found
  // The graph to use, with times and differences. Without `execute` it is not set: search.best is
  // the graph.
  Acceptance accepted;
  int64_t calibrated = 0;  // kernels whose costs were corrected because a contender was not better
  // How the input became accepted.graph. StageOptimized adds the hashes of the files.
  std::optional<Certificate> certificate;
  // The origin of new nodes and weights of accepted.graph. Set only with a certificate.
  optimizer::Provenance provenance;
  std::optional<WhyNotReport> why_not;
  std::optional<Alternatives> alternatives;  // to accepted.graph; with `explain`

  // False if every graph, the input too, exceeds the memory limit. Then there is no result.
  bool fits() const { return !accepted.least_bytes.has_value(); }
};

// Searches for graphs, executes them and the input on `inputs`, and accepts one that is better
// (Accept in api/optimization/acceptance.h). If none is, and there is no time limit, searches once
// more with costs that these runs have corrected. Errors before anything is executed: NotFound or
// InvalidArgument for a wrong option, file or rule name; FailedPrecondition if a selected rule is
// not proved (so_far->unproved names it). Cancelled if it was interrupted before there was a
// result.
absl::StatusOr<OptimizeResult> Optimize(const Graph& input, absl::Span<const Tensor> inputs,
                                        const OptimizeOptions& options);

// An import turns each node of an ONNX model into operators. If none of them changes,
// StageOptimized writes the node as it was. LoopsOf finds the operators of loops, recurrent
// networks and operators that sample at computed positions, for OptimizeOptions::fixed. NodesOf
// finds the operators of all nodes, for OptimizeOptions::unfolded. `model` need not outlive the
// result.
std::function<FixedNodes(const Graph&)> LoopsOf(const Model& model);
std::function<FixedNodes(const Graph&)> NodesOf(const Model& model);

// The back end that executes both graphs: that of the options or, for a GPU that is not present,
// the CPU.
absl::StatusOr<std::unique_ptr<Backend>> BackendFor(const OptimizeOptions& options);

// Prepares the files of a result, without writing to their places (base/file.h): the model at
// `path`, whose ending selects the format (FormatOfPath), and its certificate at `certificate` ("":
// none). `input` is the model as it was read, `record` how it was read (RecordInput). If the result
// is the input's graph and both files are ONNX, the input's files are copied, unless one of them
// has changed or would replace another file. `notes` (null: not wanted) receives what differs
// between the models besides their nodes, one line each. InvalidArgument unless fits() is true, or
// if the result has no certificate to write.
absl::StatusOr<std::vector<StagedFile>> StageOptimized(Model input, const InputRecord& record,
                                                       const OptimizeResult& result,
                                                       const std::string& path,
                                                       const std::string& certificate,
                                                       std::vector<std::string>* notes = nullptr);
// Prepares and commits the files: writes all of them, or none.
absl::Status SaveOptimized(Model input, const InputRecord& record, const OptimizeResult& result,
                           const std::string& path, const std::string& certificate);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZE_H_
