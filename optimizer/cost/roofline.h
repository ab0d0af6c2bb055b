// The roofline model: the time of work from three figures of a machine.
#ifndef LEMMA_OPTIMIZER_COST_ROOFLINE_H_
#define LEMMA_OPTIMIZER_COST_ROOFLINE_H_

#include <vector>

#include "kernels/loops/cost.h"
#include "optimizer/cost/cost.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::optimizer {

// The defaults are one core of a current server.
struct Roofline {
  double flops_per_second = 1e11;
  double bytes_per_second = 1e10;
  double overhead_ns = 1000;  // of starting one kernel
};

// overhead + max(flops / flops_per_second, bytes / bytes_per_second).
Cost EstimateCost(const Roofline& machine, const Work& work);

// The ceilings that measured kernels of one device show: what the fastest tenth of those that take
// at least ten times the overhead reach; the overhead is the shortest time of all. Kernels without
// flops or bytes count for neither; what no kernel tells stays as in the default.
Roofline FitRoofline(const std::vector<CostEntry>& measured);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_ROOFLINE_H_
