// An estimate of cost from definitions alone: the roofline model.
#ifndef LEMMA_OPTIMIZER_ANALYTIC_COST_H_
#define LEMMA_OPTIMIZER_ANALYTIC_COST_H_

#include <memory>

#include "graph/graph.h"
#include "optimizer/cost_model.h"

namespace lemma {

// A machine in three figures. The defaults are one core of a current server.
struct Roofline {
  double flops_per_second = 1e11;
  double bytes_per_second = 1e10;
  double overhead_ns = 1000;  // of starting one operator
};

// time(operator) = overhead + max(flops / flops_per_second, bytes / bytes_per_second), as the
// operator's definition counts them (graph/expr/cost.h). Knows of no fusion. An opaque operator
// costs its bytes, the same before and after.
std::unique_ptr<CostModel> MakeAnalyticCostModel(const Roofline& machine = {});

// The largest sum of values alive at once if operators run in the graph's order and free what is
// used up; weights not counted.
int64_t PeakLiveBytes(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_OPTIMIZER_ANALYTIC_COST_H_
