// The roofline model: estimates the time of a kernel from three figures of a machine.
#ifndef LEMMA_OPTIMIZER_COST_ROOFLINE_H_
#define LEMMA_OPTIMIZER_COST_ROOFLINE_H_

#include <vector>

#include "kernels/loops/cost.h"
#include "optimizer/cost/cost.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::optimizer {

// The defaults are round figures for one core of a server: 100 Gflop/s, 10 GB/s.
struct Roofline {
  double flops_per_second = 1e11;  // scalar operations, as Work counts them
  double bytes_per_second = 1e10;  // read or written
  double overhead_ns = 1000;       // time to start one kernel
};

// The overhead plus the longer of two times: flops / flops_per_second and bytes / bytes_per_second.
// Bytes read and bytes written both count. The result has no peak memory.
Cost EstimateCost(const Roofline& machine, const Work& work);

// Fits the figures to measured kernels of one device. The overhead is the shortest time of all
// kernels. A kernel's rate is its flops (or bytes) / (its time - the overhead). Kernels that take
// less than ten times the overhead, and kernels whose flops (or bytes) are 0, are left out. The
// figure is the rate that the fastest tenth of the other kernels reach. Figures without data keep
// their defaults. The medians in `measured` must be positive.
Roofline FitRoofline(const std::vector<CostEntry>& measured);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_ROOFLINE_H_
