// An estimate of cost from definitions alone: the roofline model.
#ifndef LEMMA_OPTIMIZER_COST_ANALYTIC_COST_H_
#define LEMMA_OPTIMIZER_COST_ANALYTIC_COST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/roofline.h"

namespace lemma::optimizer {

// The roofline's time of each operator (optimizer/cost/roofline.h), its work counted as its
// definition does (kernels/loops/cost.h). Knows of no fusion. An opaque operator costs its bytes,
// the same before and after.
std::unique_ptr<CostModel> MakeAnalyticCostModel(const Roofline& machine = {});

// What values take while each operator runs, if operators run in the graph's order and free what is
// used up; weights not counted.
std::vector<int64_t> LiveBytes(const Graph& graph);
// The largest of these; what the inputs take if there is no operator.
int64_t PeakLiveBytes(const Graph& graph);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_ANALYTIC_COST_H_
