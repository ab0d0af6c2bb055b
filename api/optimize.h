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
    kResult,      // makes the certificate, and the reports for `explain` and `why_not`
  };
  Stage stage = Stage::kRules;
  bool begins = false;  // the stage begins; of the fields below, only so_far is set then
  const OptimizeResult* so_far = nullptr;  // never null; valid during the call only
  std::string measured;  // signature of the kernel that is measured next; "": none
  std::optional<optimizer::SearchProgress> search;  // set in kSearch only
  double seconds = 0;                               // in kSearch: time spent in searches
  int64_t peak_bytes = 0;                           // in kMemory: the peak after the last step
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
  std::vector<std::string> disable;  // names of the rules not to use
  std::vector<std::string> only;     // names of the only rules to use; empty: all
  FloatContract numerics = FloatContract::kReassociates;  // the loosest contract to accept
  bool allow_unproved = false;                            // also use rules without a current proof
  bool pet = false;  // also use corrected mutants of parts as rules (docs/pet.md)

  // `fixed` returns the nodes of a graph that rewrites must leave as they are (see LoopsOf).
  // `unfolded` returns the nodes of a graph whose values must not be folded (see NodesOf). Empty
  // functions: no nodes.
  std::function<FixedNodes(const Graph&)> fixed, unfolded;
  // Says why a graph cannot be written in the format of the result (see WriterOf); such a graph is
  // not accepted. An empty function: every graph can be written.
  std::function<absl::Status(const Graph&)> can_write;

  // The search (docs/search.md).
  std::string search = SearchNames().front();  // one of SearchNames()
  int64_t budget = 5000;                       // limit on the graphs to generate
  double alpha = 1.05;             // explores graphs that cost less than alpha times the best
  int64_t nodes = 6000;            // limit on the operators in saturation's e-graph
  optimizer::Objective objective;  // the quantity to reduce; some strategies accept time only
  bool price_steps = false;        // price the graph after each step (RewriteStep::cost)
  CostOptions costs;
  std::string replay;  // path of a certificate whose steps replace the search; "": none

  // For a graph with symbolic sizes, and only for such a graph: the sizes at which it is priced and
  // executed. hints[0] must have the sizes of the inputs that Optimize gets. A result must be
  // better at hints[0] and must not be slower at the other hints. Not allowed with `pet` or a
  // memory limit.
  std::vector<optimizer::SizeHint> hints;

  // Execution of the graphs found.
  // False: only searches. No graph is executed or accepted. Unproved rules are not an error: they
  // are left out or, with `allow_unproved`, used.
  bool execute = true;
  ExecutionOptions execution;  // if the objective includes memory, reuse_late counts as false
  // True: nothing is executed or measured. The graph of the lowest price is accepted if its price
  // is lower than the input's price: by at least 1 % or, if the objective includes memory, by any
  // amount. Prices are known costs or estimates (CostOptions::measure_new). With `replay`, the
  // graph of the steps is accepted without a price. Not allowed with `allow_unproved` or a memory
  // limit, because only execution confirms their results.
  bool by_price = false;
  int64_t runs = 15;  // timed runs of the input and of each contender if Times(); at least 3
  bool keeps_barriers = true;  // false for ONNX output, which cannot express recomputed values

  // Reports on the result.
  bool certify = true;   // make OptimizeResult::certificate
  std::string why_not;   // name of a rule: report where it was not applied, and why; "": none
  bool explain = false;  // price each step, and the rules that match in the result; a few seconds

  // When the time is up, the search ends, and the work after the search is kept to a minimum. An
  // interruption during the search or the memory reduction ends that stage; the graphs found so far
  // are judged as usual. A later interruption ends the whole call.
  Deadline deadline;
  std::function<void(const OptimizeProgress&)> on_progress;  // may be empty

  // InvalidArgument if a value is out of range, or options exclude each other. The message names
  // the option (api/models/option_error.h).
  absl::Status Check() const;
  // Whether the input and the contenders are timed when they are executed.
  bool Times() const { return costs.device.empty() && replay.empty() && !by_price; }
};

// "exact", "reassociate", "real", as reports and flags call them.
const char* NumericsName(FloatContract numerics);
// "time", "memory", "product", "pareto".
const char* GoalName(optimizer::Objective::Goal goal);

// The result of Optimize.
struct OptimizeResult {
  std::vector<optimizer::UnprovedRule> unproved;  // selected rules without a current proof
  // The last search. With `pet`, the one before it if the last one was cut short and found no
  // better graph.
  optimizer::SearchResult search;
  double search_seconds = 0;  // wall-clock time of all searches
  double best_seconds = 0;    // the part of search_seconds until the best graph was found
  // The graph to use, with times and differences. Not set without `execute`; then search.best is
  // the graph to use.
  Acceptance accepted;
  // Whether the time was up before the search had measured all kernels. Then the costs in `search`
  // are too high, because they contain cautious estimates (optimizer::MeasureOptions::is_late).
  bool priced_late = false;
  int64_t calibrated = 0;  // kernels whose costs were corrected because a contender was not better
  // How the input became accepted.graph. Absent without OptimizeOptions::certify, without
  // `execute`, and if fits() is false. StageOptimized adds the hashes of the files.
  std::optional<Certificate> certificate;
  // The origin of new nodes and weights of accepted.graph. Set only with a certificate.
  optimizer::Provenance provenance;
  std::optional<WhyNotReport> why_not;
  // Rules for accepted.graph. Set with `explain`, but not without `execute` or if fits() is false.
  std::optional<Alternatives> alternatives;

  // False if every graph, including the input, exceeds the memory limit. Then there is no result.
  bool fits() const { return !accepted.least_bytes.has_value(); }
};

// Searches for graphs, executes them and the input on `inputs`, and accepts a graph that is better
// than the input (Accept in api/optimization/acceptance.h). If no graph is better, and there is no
// time limit, searches once more with costs that these runs have corrected. Errors before anything
// is executed: NotFound or InvalidArgument for a wrong option, file or rule name;
// FailedPrecondition if a selected rule is not proved (OptimizeProgress::so_far->unproved names
// it). Cancelled if an interruption came before there was a result.
absl::StatusOr<OptimizeResult> Optimize(const Graph& input, absl::Span<const Tensor> inputs,
                                        const OptimizeOptions& options);

// Facts that only the caller of Optimize knows.
struct OptimizeContext {
  std::string output, certificate;  // files; "": none
  // Memory of the process when the search began, and its peak while the search ran.
  int64_t search_start_bytes = 0, search_peak_bytes = 0;
  // Why the rule OptimizeOptions::why_not was excluded from the search, in the caller's words; "":
  // it was not excluded, though it may have been applied nowhere.
  std::string excluded;
  std::string report;  // the file of the HTML page; "": none
};
// The result for people: a table with remarks, left out if context.output is "", then
// ExplanationText and the answer to options.why_not, if the result has them. `input` and `options`
// as for Optimize.
std::string TextOf(const Graph& input, const OptimizeOptions& options, const OptimizeResult& result,
                   const OptimizeContext& context);
// Why the input was kept and no other graph was accepted, in words that may follow a colon: "no
// rule makes it faster". result.accepted.kept_input() must be true.
std::string WhyKept(const OptimizeOptions& options, const OptimizeResult& result);
// A table of the rules that were applied, and a table of up to 20 rules that match in the result.
// result.alternatives must be set.
std::string ExplanationText(const OptimizeResult& result);
// The rules' names: "a, b, c".
std::string NamesOf(const std::vector<optimizer::UnprovedRule>& rules);

// Functions for ONNX files: LoopsOf makes a function for OptimizeOptions::fixed, NodesOf a function
// for OptimizeOptions::unfolded, and WriterOf a function for OptimizeOptions::can_write. An import
// turns each node of an ONNX model into operators; if none of these operators changes,
// StageOptimized writes the node as it was. The function of LoopsOf returns the operators of the
// ONNX nodes that are loops, recurrent networks or samplings at computed positions. The function of
// NodesOf returns the operators of all ONNX nodes. `model` need not outlive the returned function.
std::function<FixedNodes(const Graph&)> LoopsOf(const Model& model);
std::function<FixedNodes(const Graph&)> NodesOf(const Model& model);
std::function<absl::Status(const Graph&)> WriterOf(const Model& model);

// Sets the options for a result that is written as ONNX: unfolded, can_write and keeps_barriers
// and, if loops are to stay as they are, fixed. `model` need not outlive the options.
void SetForOnnx(const Model& model, bool keep_loops, OptimizeOptions* options);

// The back end that executes the input and the contenders: the back end that the options name or,
// for a GPU that is not present, the back end "cpu".
absl::StatusOr<std::unique_ptr<Backend>> BackendFor(const OptimizeOptions& options);

// Prepares the files of a result, without writing to their places (base/file.h): the model at
// `path`, whose ending selects the format (FormatOfPath), and its certificate at `certificate` ("":
// none). `input` is the model as it was read; `record` says how it was read (RecordInput). If the
// result is the input's graph with the input's own weights, and both files are ONNX, the input's
// files are copied (StageCopy); if StageCopy returns NotFound, the model is written anew. `notes`
// (null: not wanted) receives the differences between the models besides their nodes, one line
// each. InvalidArgument if fits() is false, or if the result has no certificate to write.
absl::StatusOr<std::vector<StagedFile>> StageOptimized(Model input, const InputRecord& record,
                                                       const OptimizeResult& result,
                                                       const std::string& path,
                                                       const std::string& certificate,
                                                       std::vector<std::string>* notes = nullptr);
// Prepares the files as StageOptimized does and, once all are complete on disk, commits them.
absl::Status SaveOptimized(Model input, const InputRecord& record, const OptimizeResult& result,
                           const std::string& path, const std::string& certificate);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZE_H_
