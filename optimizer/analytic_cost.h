// An estimate of cost from definitions alone: the roofline model.
#ifndef LEMMA_OPTIMIZER_ANALYTIC_COST_H_
#define LEMMA_OPTIMIZER_ANALYTIC_COST_H_

#include <memory>

#include "graph/graph.h"
#include "optimizer/cost_model.h"
#include "optimizer/roofline.h"

namespace lemma {

// The roofline's time of each operator (optimizer/roofline.h), its work counted as its definition
// does (graph/expr/cost.h). Knows of no fusion. An opaque operator
// costs its bytes, the same before and after.
std::unique_ptr<CostModel> MakeAnalyticCostModel(const Roofline& machine = {});

// The largest sum of values alive at once if operators run in the graph's order and free what is
// used up; weights not counted.
int64_t PeakLiveBytes(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_OPTIMIZER_ANALYTIC_COST_H_
