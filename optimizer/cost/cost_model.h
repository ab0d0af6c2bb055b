// The interface of a cost model, which maps a graph to a Cost. Searches see only this interface.
#ifndef LEMMA_OPTIMIZER_COST_COST_MODEL_H_
#define LEMMA_OPTIMIZER_COST_COST_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "optimizer/cost/cost.h"

namespace lemma::optimizer {

class CostModel {
 public:
  virtual ~CostModel() = default;

  // The cost of one inference. Values that depend on known weights only are free: they are computed
  // once, when optimization ends (optimizer/folding/constant_folding.h). A graph that cannot run
  // costs infinity; an error status means that the model itself failed. Equal graphs get equal
  // costs during the model's lifetime.
  virtual absl::StatusOr<Cost> CostOf(const Graph& graph) = 0;

  // As CostOf, but measures nothing: an unknown cost is estimated, rather too low.
  virtual absl::StatusOr<Cost> EstimateOf(const Graph& graph) { return CostOf(graph); }

  // How CostOf is composed, by position in nodes(). Operators that are computed together count at
  // the first of them; the others cost 0. The sum is at most CostOf. Empty if the model cannot
  // tell.
  virtual absl::StatusOr<std::vector<Cost>> SharesOf(const Graph& /*graph*/) {
    return std::vector<Cost>();
  }

  // The cost that one application adds to any graph in which it is not folded. Depends on its
  // operator, attributes and types only, not on its neighbours. nullopt, for every application, if
  // the model is not such a sum. With it, a search prices the change of a rewrite instead of the
  // graph.
  virtual std::optional<Cost> CostOfOperator(const Node& /*node*/) { return std::nullopt; }

  // One line for reports: "measured on cpu (…), 2 threads".
  virtual std::string Describe() const = 0;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_MODEL_H_
