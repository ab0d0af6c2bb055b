// Cost-based backtracking search (TASO, SOSP'19, section 5), combined with greedy descent.
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
  // The search expands a graph if its cost is at most alpha times the best cost so far.
  double alpha = 1.05;
  // The quantity to minimize. kPareto spends a third of the steps on time, a third on memory, and a
  // third on the objective Deciding(): time below the memory limit or, without a limit, the
  // product. SearchResult::front then covers all graphs seen, and SearchResult::best is the graph
  // of the front that is best by Deciding().
  Objective objective = {};
  // Whether the search only descends: no parts, no single rewrites, no apply-all. If there are late
  // rules (docs/glossary.md), it descends without them first, then with all rules.
  bool descend_only = false;
  // If not empty, the search calls this function at its end, for each objective: also if the limit
  // on steps stopped the search, but not if time or an interruption did. The function may replace
  // *best by a state of `work` that is better by the objective of `work`.
  std::function<absl::Status(Workspace* work, SearchBudget* budget, SearchState* best)> finish =
      nullptr;
  // Whether to set RewriteStep::cost and RewriteStep::change of the result's steps.
  bool price_steps = false;
};

// Creates the search. It makes the certain rewrites first (docs/glossary.md), then three kinds of
// moves:
//   * Descent: it applies each rewrite that makes the graph better (Workspace::Outcome::is_better)
//     until no rewrite does. Real models need hundreds of such rewrites, one per layer; a queue of
//     single rewrites would not reach that far.
//   * Single rewrite: it applies one rewrite, whether or not the cost falls. The cheapest queued
//     graph is expanded first. Graphs that cost more than alpha times the best, and graphs whose
//     hash (EditGraph::hash) was seen before, are dropped.
//   * Apply-all: it applies one rule at all its matches, then descends. A model's layers repeat, so
//     a gain that needs two steps per layer would otherwise cost two steps of the budget per layer.
// Graphs of equal cost are ordered by operator count, then by age. Large graphs are also searched
// in parts (docs/search.md#parts). `source` and `costs` must outlive the search.
std::unique_ptr<Search> MakeBacktrackingSearch(const RewriteSource* source, CostModel* costs,
                                               const BacktrackingOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_BACKTRACKING_H_
