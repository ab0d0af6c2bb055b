// The search strategies by name. strategies.inc is their table.
#ifndef LEMMA_OPTIMIZER_STRATEGIES_STRATEGIES_H_
#define LEMMA_OPTIMIZER_STRATEGIES_STRATEGIES_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/search.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma::optimizer {

// The options that a user may set. A strategy ignores the options that do not concern it.
struct StrategyOptions {
  BacktrackingOptions search;  // except `descend_only` and `finish`
  int max_nodes = 6000;        // limit on the nodes of an e-graph
};

struct Strategy {
  const char* name;
  bool knows_memory;  // false: Objective::IsTime() must be true
  const char* help;   // what it does, in a few words
  // `source` and `costs` must outlive the search.
  std::unique_ptr<Search> (*make)(const RewriteSource* source, CostModel* costs,
                                  const StrategyOptions& options);
};

// In the order of the table; the first is the default.
const std::vector<Strategy>& Strategies();
// nullptr if there is no strategy of that name.
const Strategy* FindStrategy(absl::string_view name);

// The functions that make the strategies' searches.
#define LEMMA_STRATEGY(name, make, knows_memory, help)                        \
  std::unique_ptr<Search> make(const RewriteSource* source, CostModel* costs, \
                               const StrategyOptions& options);
#include "optimizer/strategies/strategies.inc"
#undef LEMMA_STRATEGY

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_STRATEGIES_STRATEGIES_H_
