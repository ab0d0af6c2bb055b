// The interface of a search strategy: it finds a cheaper graph that equals the given one.
// optimizer/strategies/strategies.inc lists the strategies.
#ifndef LEMMA_OPTIMIZER_SEARCH_SEARCH_H_
#define LEMMA_OPTIMIZER_SEARCH_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "optimizer/cost/cost.h"
#include "rewrite/matching/match_view.h"

namespace lemma::optimizer {

struct SearchLimits {
  // The limit on generated graphs: each rewrite whose result gets a hash and a cost counts as one.
  // The descents of phases 2 and 4 of the search (docs/search.md#strategies), and the descent from
  // a graph that was extracted from an e-graph, are completed even if they exceed the limit.
  int64_t max_steps = 100000;
  // Wall-clock time; 0: no limit. A search that this limit stops need not be repeatable.
  double max_seconds = 0;
};

// Passed to the progress callback.
struct SearchProgress {
  int64_t steps = 0;   // generated graphs
  int64_t queued = 0;  // graphs that wait to be expanded
  Cost initial, best;
  int num_rewrites = 0;  // on the path to the best graph
};

enum class StopReason {
  kExhausted,  // the search ended by itself: it has nothing more to try
  kSteps,      // SearchLimits::max_steps is reached
  kSeconds,    // SearchLimits::max_seconds is reached
  kCancelled,  // by the progress callback or the cost model
};
const char* Name(StopReason reason);

// One applied rewrite on the path from the input to a graph of the result.
struct RewriteStep {
  std::string name;
  std::string where;    // Rewrite::Describe()
  uint64_t before = 0;  // structural hash of the graph before the step
  uint64_t after = 0;   // structural hash of the graph after the step
  // The match, as positions in nodes() of the graph before the step: the values of the rule's
  // variables, and the nodes that its source pattern matched.
  std::vector<ValueRef> vars;
  std::vector<int> nodes;
  // Set only on request: the predicted cost of the graph after the step and, if the cost model
  // lists kernels, the change of the time by the step.
  std::optional<Cost> cost;
  struct Change {
    double ns = 0, error_ns = 0;  // time after minus time before, and its standard error
    bool is_certain = false;      // CannotLose in optimizer/cost/plan_comparison.h
  };
  std::optional<Change> change;
};

// A graph of the Pareto front: compared with any other priced graph, it is faster, needs less peak
// memory, or is equal in both.
struct FrontPoint {
  Cost cost;
  int ops = 0;           // the number of operators
  bool is_best = false;  // whether the graph is SearchResult::best
};

// A lower bound on the cost of graphs that rules make from the input. `covers_all_graphs` says for
// which graphs the bound holds, `is_proved` says whether it is certain.
struct SearchBound {
  Cost cost;
  // True: no graph considered costs less, with a relative tolerance of 1e-6. False: the bound is an
  // estimate, because the cost model is not a sum over operators. The estimate uses the least cost
  // that each operator was seen to add (optimizer/cost/node_price.h); in another graph the operator
  // might add less.
  bool is_proved = false;
  // True: the bound holds for all graphs that the rules reach. False: it holds only for the graphs
  // that were considered.
  bool covers_all_graphs = false;
};

struct SearchResult {
  Graph best;
  Cost initial_cost, best_cost;
  std::vector<RewriteStep> rewrites;  // from the input to `best`
  // The result of the first descent: rewrites, or groups of rewrites applied together, each of
  // which made the graph better.
  Graph descended;
  std::vector<RewriteStep> descended_rewrites;
  // The graph after the certain rewrites, which need no times and are applied first (CannotLose in
  // optimizer/cost/plan_comparison.h); the input if there are no such rewrites.
  Graph certain;
  std::vector<RewriteStep> certain_rewrites;
  // Whether `best` and `descended`, like `certain`, cannot be slower than the input.
  bool best_is_certain = false, descended_is_certain = false;
  Cost descended_cost, certain_cost;
  // If a Pareto front was requested: its graphs, the fastest first.
  std::vector<FrontPoint> front;
  StopReason stop = StopReason::kExhausted;
  int64_t steps = 0;  // generated graphs
  // Processor time to generate the graphs, without the time to describe the result.
  double search_seconds = 0;
  std::optional<SearchBound> bound;  // only from strategies that compute one
};

// A search strategy. Deterministic for the same graph, rewrites, costs and limits, except that
// max_seconds may change the result.
class Search {
 public:
  virtual ~Search() = default;
  // Called from time to time. If it returns false, the search stops and Run returns the result so
  // far.
  using OnProgress = std::function<bool(const SearchProgress&)>;
  // Searches from `graph`. `progress` may be empty. If the cost model returns Cancelled, the search
  // stops as well; if the model does so for the first graph, Run returns Cancelled.
  virtual absl::StatusOr<SearchResult> Run(const Graph& graph, const OnProgress& progress) = 0;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_SEARCH_H_
