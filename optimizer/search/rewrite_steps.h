// Describes the edits of a search as steps between whole graphs.
#ifndef LEMMA_OPTIMIZER_SEARCH_REWRITE_STEPS_H_
#define LEMMA_OPTIMIZER_SEARCH_REWRITE_STEPS_H_

#include <vector>

#include "optimizer/search/search.h"
#include "rewrite/matching/match_set.h"

namespace lemma::optimizer {

// The steps that `matched_edits` perform on `graph`, in order; RewriteStep::cost and ::change are
// not set. Each edit refers to nodes by their numbers in an EditGraph that starts as `graph` and to
// which the earlier edits were applied. Takes time linear in the graph for each step.
std::vector<RewriteStep> StepsOf(const Graph& graph,
                                 absl::Span<const MatchedEditPtr> matched_edits);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_REWRITE_STEPS_H_
