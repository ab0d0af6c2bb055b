// What a search did, told in terms of whole graphs.
#ifndef LEMMA_OPTIMIZER_SEARCH_REWRITE_STEPS_H_
#define LEMMA_OPTIMIZER_SEARCH_REWRITE_STEPS_H_

#include <vector>

#include "optimizer/search/search.h"
#include "rewrite/matching/match_set.h"

namespace lemma::optimizer {

// The steps that lead from `graph` over `matched edits`, which are numbered as an EditGraph of it
// does that applied them in this order. Each costs time linear in the graph.
std::vector<RewriteStep> StepsOf(const Graph& graph,
                                 absl::Span<const MatchedEditPtr> matched_edits);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_REWRITE_STEPS_H_
