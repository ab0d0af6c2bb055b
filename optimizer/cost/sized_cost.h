// Prices graphs with symbolic sizes by their costs at some sizes.
#ifndef LEMMA_OPTIMIZER_COST_SIZED_COST_H_
#define LEMMA_OPTIMIZER_COST_SIZED_COST_H_

#include <memory>
#include <vector>

#include "graph/sizes/symbolic_size.h"
#include "optimizer/cost/cost_model.h"

namespace lemma::optimizer {

// Sizes for which a graph is priced, and how much they count.
struct SizeHint {
  DimValues sizes;    // of each symbolic dimension of the graph
  double weight = 1;  // positive
};

// Makes a model that prices a graph by `model` at the sizes of each hint. The cost is the weighted
// sum of the times, with the largest of the memory peaks. It is infinite if the graph is not
// well-formed at one of the hints. `hints` must not be empty; weights are not divided by their sum.
std::unique_ptr<CostModel> MakeSizedCostModel(std::unique_ptr<CostModel> model,
                                              const std::vector<SizeHint>& hints);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_SIZED_COST_H_
