// Equality saturation: applies all rewrites in an e-graph, then extracts the cheapest graph.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_SATURATION_H_
#define LEMMA_OPTIMIZER_EXTRACTION_SATURATION_H_

#include <memory>

#include "optimizer/cost/cost_model.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/search.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma::optimizer {

struct SaturationOptions {
  // The search that runs first. Its objective must be time. The e-graph starts with the result of
  // this search and all graphs on the path to this result.
  BacktrackingOptions first;
  int max_nodes = 6000;  // limit on the nodes of the e-graph
};

// Creates the search. It applies every match to an e-graph (rewrite/egraph/egraph.h) until nothing
// new arises or the e-graph is full, and extracts the cheapest graph
// (optimizer/extraction/extraction.h). Then it goes from the input towards the extracted graph by
// the rewrites that the e-graph recorded, so that the result has steps as usual. A rewrite is
// skipped if an earlier rewrite destroyed its match (optimizer/extraction/realize.h). A descent
// follows. The result is the best graph reached by the first search, the rewrites or the descent.
//
// A cost model that is not a sum over operators is approximated by such a sum
// (optimizer/cost/node_price.h); SearchResult::bound then refers to the approximation. The result
// itself is priced exactly. The bound is set unless time or an interruption stopped the search
// before the extraction, or no graph can run. `source` and `costs` must outlive the search.
std::unique_ptr<Search> MakeSaturationSearch(const RewriteSource* source, CostModel* costs,
                                             const SaturationOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_SATURATION_H_
