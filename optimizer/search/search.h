// Searches: from a graph to a cheaper equal one.
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
  // Graphs generated: rewrites applied, giving a graph whose hash and cost are known. The first
  // descent is finished whatever it takes.
  int64_t max_steps = 100000;
  // Wall clock; 0: no limit. A search that the clock stops need not come out the same again.
  double max_seconds = 0;
};

// From the outside: what happened so far.
struct SearchProgress {
  int64_t steps = 0;
  int64_t queued = 0;  // graphs that wait to be looked at
  Cost initial, best;
  int num_rewrites = 0;  // on the way to the best graph
};

enum class StopReason {
  kExhausted,  // nothing left within the threshold
  kSteps,
  kSeconds,
  kCancelled,  // by the progress callback
};
const char* Name(StopReason reason);

// One application on the way to the best graph.
struct RewriteStep {
  std::string name;
  std::string where;    // Rewrite::Describe()
  uint64_t before = 0;  // structural hashes
  uint64_t after = 0;
  // The match, by positions in the nodes() of the graph before: of the rule's variables, and of the
  // nodes of its source.
  std::vector<ValueRef> vars;
  std::vector<int> nodes;
  // Predicted, of the graph after; absent unless asked for.
  std::optional<Cost> cost;
};

// A graph of a front of time and memory.
struct FrontPoint {
  Cost cost;
  int ops = 0;
  bool is_best = false;
};

// What a graph costs at least.
struct SearchBound {
  Cost cost;
  // No graph that was looked at costs less, by more than a millionth. Else an estimate: the cost
  // model is no sum over operators, and what each adds at least (optimizer/cost/node_price.h) was
  // looked for, but not everywhere.
  bool is_proved = false;
  // Of all graphs that the rules lead to; else of those that fitted into the limits.
  bool is_of_all = false;
};

struct SearchResult {
  Graph best;
  Cost initial_cost, best_cost;
  std::vector<RewriteStep> rewrites;  // from the input to `best`
  // What the first descent reached: fewer, surely profitable rewrites.
  Graph descended;
  std::vector<RewriteStep> descended_rewrites;
  // If a front was asked for: the graphs that no other one seen beats in time and in peak memory,
  // the fastest first.
  std::vector<FrontPoint> front;
  StopReason stop = StopReason::kExhausted;
  int64_t steps = 0;
  double search_seconds =
      0;  // processor time of generating them; describing the result comes on top
  std::optional<SearchBound> bound;  // of strategies that prove one
};

// A strategy. The same graph, rewrites, costs and limits (but for seconds) give the same result.
class Search {
 public:
  virtual ~Search() = default;
  // Called now and then; returning false stops the search, which then returns what it has. So does
  // a cost that is Cancelled, but for that of the first graph, which is an error.
  using OnProgress = std::function<bool(const SearchProgress&)>;
  virtual absl::StatusOr<SearchResult> Run(const Graph& graph, const OnProgress& progress) = 0;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_SEARCH_H_
