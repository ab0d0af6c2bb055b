// Costs of graphs with symbolic sizes: their costs at some sizes.
#ifndef LEMMA_OPTIMIZER_COST_SIZED_COST_H_
#define LEMMA_OPTIMIZER_COST_SIZED_COST_H_

#include <memory>
#include <vector>

#include "graph/sizes/symbolic_size.h"
#include "optimizer/cost/cost_model.h"

namespace lemma::optimizer {

// Sizes for which a graph is priced, and how much they count.
struct SizeHint {
  DimValues sizes;
  double weight = 1;  // positive
};

// The weighted sum of the costs that `model` gives a graph at each of `hints`; there must be one.
// The peak of memory is the largest of them.
std::unique_ptr<CostModel> MakeSizedCostModel(std::unique_ptr<CostModel> model,
                                              const std::vector<SizeHint>& hints);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_SIZED_COST_H_
