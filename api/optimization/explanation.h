// Explains a result: what else could have been done to it, and at what price.
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

// A rule that could be applied to a graph.
struct Alternative {
  std::string rule;  // its name
  int places = 0;    // matches in the graph
  // The place with the largest gain of those priced, and the change of the predicted time there
  // (negative: a gain). `change` is absent, and `where` is "", if no place could be priced. The
  // error and the certainty of the change are set only if the cost model lists kernels
  // (CostModel::ListsKernels).
  std::string where;
  std::optional<optimizer::RewriteStep::Change> change;
};

struct Alternatives {
  std::vector<Alternative> rules;  // the best first, those that were not priced last
  bool is_complete = true;         // false if the deadline passed before every rule was priced
};

// The rules that match in `graph`. Prices at most four places of each. Errors of `costs`.
absl::StatusOr<Alternatives> AlternativesOf(const Graph& graph, const RewriteSource& rules,
                                            optimizer::CostModel* costs, const Deadline& deadline);

// For each rule of the steps, the sum of the changes that it made; the largest gain first. `where`
// is "". Steps without a change (RewriteStep::change) count in `places` only.
std::vector<Alternative> ChangesByRule(const std::vector<optimizer::RewriteStep>& steps);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_EXPLANATION_H_
