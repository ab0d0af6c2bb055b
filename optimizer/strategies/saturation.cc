// The strategies with an e-graph: `saturation` begins with a descent, `auto` with a backtracking
// search.
#include "optimizer/extraction/saturation.h"

#include "optimizer/strategies/strategies.h"

namespace lemma::optimizer {

std::unique_ptr<Search> MakeSaturation(const RewriteSource* source, CostModel* costs,
                                       const StrategyOptions& options) {
  SaturationOptions saturation = {options.search, options.max_nodes};
  saturation.first.descend_only = true;
  return MakeSaturationSearch(source, costs, saturation);
}

std::unique_ptr<Search> MakeAuto(const RewriteSource* source, CostModel* costs,
                                 const StrategyOptions& options) {
  return MakeSaturationSearch(source, costs, {options.search, options.max_nodes});
}

}  // namespace lemma::optimizer
