// Cost models: graph -> Cost. The search sees this interface only.
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

  // The cost of one inference. What depends on known weights only is free: it is computed once,
  // when optimization ends (optimizer/folding/constant_folding.h). A graph that cannot be run is
  // infinite; a status means that the model itself failed. Equal graphs get equal costs as long as
  // the model lives.
  virtual absl::StatusOr<Cost> CostOf(const Graph& graph) = 0;

  // The same without measuring anything: what is not known is estimated, rather too low.
  virtual absl::StatusOr<Cost> EstimateOf(const Graph& graph) { return CostOf(graph); }

  // What CostOf is made of, by position in nodes(): what is computed together counts where it
  // begins, the rest of it for nothing. Not more than CostOf in all. Empty if the model cannot
  // tell.
  virtual absl::StatusOr<std::vector<Cost>> SharesOf(const Graph& /*graph*/) {
    return std::vector<Cost>();
  }

  // What one application adds to CostOf of any graph in which it is not folded: its operator,
  // attributes and types decide, not what is around it. nullopt if the model is not such a sum;
  // then it is for every application. Lets a search price what a rewrite changes instead of the
  // graph.
  virtual std::optional<Cost> CostOfOperator(const Node& /*node*/) { return std::nullopt; }

  // One line for reports: "measured on cpu (…), 2 threads".
  virtual std::string Describe() const = 0;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_MODEL_H_
