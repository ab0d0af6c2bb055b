// Explains the result of an optimization: which rules changed it, which other rules could change
// it, and by how much the predicted time changes.
#ifndef LEMMA_API_OPTIMIZATION_EXPLANATION_H_
#define LEMMA_API_OPTIMIZATION_EXPLANATION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/search/search.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma::api {

// A rule that could be applied to a graph. ChangesByRule uses this struct for rules that were
// applied; the fields then have the meanings in its comment.
struct Alternative {
  std::string rule;  // its name
  int places = 0;    // the number of its matches in the graph
  // The best place, by the change of the predicted time, among the places that were priced: `where`
  // describes it (Rewrite::Describe); `change` is its change (negative: a gain). If no place could
  // be priced, `where` is "" and `change` is absent. The error and the certainty of the change are
  // set only if the cost model lists kernels (CostModel::ListsKernels).
  std::string where;
  std::optional<optimizer::RewriteStep::Change> change;
};

struct Alternatives {
  std::vector<Alternative> rules;  // the best change first; rules that were not priced last
  // False if the deadline passed, or the cost model returned Cancelled, before all prices were
  // known. After Cancelled, rules may be missing.
  bool is_complete = true;
};

// The rules that match in `graph`. Prices at most four places of each rule. Errors of `costs`.
absl::StatusOr<Alternatives> AlternativesOf(const Graph& graph, const RewriteSource& rules,
                                            optimizer::CostModel* costs, const Deadline& deadline);

// The rules that `steps` applied, the largest gain first. `places` is the number of steps by the
// rule, `change` the sum of their changes (RewriteStep::change), which is certain if each of them
// is. `where` is "". A step without a change counts in `places` only.
std::vector<Alternative> ChangesByRule(const std::vector<optimizer::RewriteStep>& steps);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_EXPLANATION_H_
