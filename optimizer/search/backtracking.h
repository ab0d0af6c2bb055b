// Cost-based backtracking search (TASO, SOSP'19, section 5), preceded and interleaved by descent.
#ifndef LEMMA_OPTIMIZER_SEARCH_BACKTRACKING_H_
#define LEMMA_OPTIMIZER_SEARCH_BACKTRACKING_H_

#include <functional>
#include <memory>

#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/objective.h"
#include "optimizer/search/explorer.h"
#include "optimizer/search/search.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma::optimizer {

struct BacktrackingOptions {
  SearchLimits limits;
  // A graph is followed up while its cost is below alpha times the best cost.
  double alpha = 1.05;
  // What to make small. kPareto: a third of the steps for time, one for memory and one for the
  // product or, with a limit, for time below it. SearchResult::front is what all of these saw; the
  // best is the fastest below the limit or, without one, the one of the least product.
  Objective objective = {};
  // Only the first descent.
  bool descend_only = false;
  // Called when all that is done for an objective, unless the search was stopped: may set *best, a
  // state of `work`, to a better one by the objective of `work`.
  std::function<absl::Status(Workspace* work, SearchBudget* budget, SearchState* best)> finish =
      nullptr;
  // Whether RewriteStep::cost is wanted: a price for each step of the result.
  bool price_steps = false;
};

// Three moves, one mechanism:
//   * Descent takes any rewrite that lowers the cost (at equal cost: the number of operators) until
//     there is none. Real models need hundreds of these, one per layer; a queue would drown.
//   * A single rewrite, whatever it does to the cost. The cheapest waiting graph goes first; graphs
//     that were seen (by structural hash) are dropped; those above the threshold too.
//   * One rule everywhere it matches, then descent. A model's layers repeat: what pays only in two
//     steps would else cost two steps of the budget per layer.
// Ties are broken by operator count and then by age. Graphs of many operators are searched in parts
// too (docs/search.md). `source` and `costs` must outlive the search.
std::unique_ptr<Search> MakeBacktrackingSearch(const RewriteSource* source, CostModel* costs,
                                               const BacktrackingOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_BACKTRACKING_H_
