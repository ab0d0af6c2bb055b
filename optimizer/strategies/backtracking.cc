// The strategy `backtracking`.
#include "optimizer/search/backtracking.h"

#include "optimizer/strategies/strategies.h"

namespace lemma::optimizer {

std::unique_ptr<Search> MakeBacktracking(const RewriteSource* source, CostModel* costs,
                                         const StrategyOptions& options) {
  return MakeBacktrackingSearch(source, costs, options.search);
}

}  // namespace lemma::optimizer
