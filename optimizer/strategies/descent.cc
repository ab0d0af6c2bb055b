// The strategy `descent`: takes each rewrite that lowers the cost until none does, and nothing
// else. The quickest; what needs a step up, or parts of its own, stays as it is.
#include "optimizer/search/backtracking.h"
#include "optimizer/strategies/strategies.h"

namespace lemma::optimizer {

std::unique_ptr<Search> MakeDescent(const RewriteSource* source, CostModel* costs,
                                    const StrategyOptions& options) {
  BacktrackingOptions descent = options.search;
  descent.descend_only = true;
  return MakeBacktrackingSearch(source, costs, descent);
}

}  // namespace lemma::optimizer
