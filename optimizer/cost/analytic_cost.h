// Estimates costs from operator definitions alone, by the roofline model.
#ifndef LEMMA_OPTIMIZER_COST_ANALYTIC_COST_H_
#define LEMMA_OPTIMIZER_COST_ANALYTIC_COST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/roofline.h"

namespace lemma::optimizer {

// Sums the roofline times (optimizer/cost/roofline.h) of the operators. The work of an operator is
// counted from its definition (kernels/loops/cost.h). Ignores fusion. Foldable operators are free
// (FoldableNodes in optimizer/folding/constant_folding.h). An operator whose work cannot be
// counted, such as an opaque operator, costs the time to read its operands and write its results,
// so it costs the same before and after a rewrite. The peak memory is PeakLiveBytes of the folded
// graph.
std::unique_ptr<CostModel> MakeAnalyticCostModel(const Roofline& machine = {});

// For each operator, in the graph's order: the bytes of the values that are live while the operator
// runs. Operators run in the graph's order. A value is freed after its last use, unless it is an
// output of the graph. Weights and constants are not counted.
std::vector<int64_t> LiveBytes(const Graph& graph);
// The largest element of LiveBytes; the size of the inputs if the graph has no operator.
int64_t PeakLiveBytes(const Graph& graph);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_ANALYTIC_COST_H_
