// Equality saturation: all rewrites at once, then the cheapest graph.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_SATURATION_H_
#define LEMMA_OPTIMIZER_EXTRACTION_SATURATION_H_

#include <memory>

#include "optimizer/cost/cost_model.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/search.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma::optimizer {

struct SaturationOptions {
  // What comes before; the objective is time. Its result, and all on the way to it, is in the
  // e-graph from the beginning.
  BacktrackingOptions first;
  int max_nodes = 6000;  // of the e-graph
};

// Applies every match to an e-graph (rewrite/egraph/egraph.h) until nothing new arises or it is
// full, extracts the cheapest graph (optimizer/extraction/extraction.h), and goes there from the
// input by the rewrites that the e-graph remembers, so that the result has steps as any other. What
// cannot be reached one rewrite after the other, since two are in each other's way, is left as it
// is; descent follows. The best of all that is the result.
//
// A cost model that is no sum over operators is taken for one (optimizer/cost/node_price.h), of
// which then the bound is. The result is priced exactly.
//
// SearchResult::bound is set unless the search was stopped. `source`
// and `costs` must outlive it.
std::unique_ptr<Search> MakeSaturationSearch(const RewriteSource* source, CostModel* costs,
                                             const SaturationOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_SATURATION_H_
