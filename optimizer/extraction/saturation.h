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
  // The search that runs first; its objective is time. The e-graph starts with its result and all
  // graphs on the path to it.
  BacktrackingOptions first;
  int max_nodes = 6000;  // of the e-graph
};

// Creates the search. It applies every match to an e-graph (rewrite/egraph/egraph.h) until nothing
// new arises or the e-graph is full, and extracts the cheapest graph
// (optimizer/extraction/extraction.h). It reaches that graph from the input by the rewrites that
// the e-graph recorded, so that the result has steps as usual. Rewrites that conflict with one
// another are skipped; a descent follows. The result is the best graph that any of this reached.
//
// A cost model that is not a sum over operators is approximated by one
// (optimizer/cost/node_price.h); the bound then refers to the approximation. The result itself is
// priced exactly. SearchResult::bound is set unless the search was stopped. `source` and `costs`
// must outlive the search.
std::unique_ptr<Search> MakeSaturationSearch(const RewriteSource* source, CostModel* costs,
                                             const SaturationOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_SATURATION_H_
