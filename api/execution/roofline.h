// What a back end reaches at most on this machine: the roof that kernels are compared with.
#ifndef LEMMA_API_EXECUTION_ROOFLINE_H_
#define LEMMA_API_EXECUTION_ROOFLINE_H_

#include "absl/status/statusor.h"
#include "kernels/loops/cost.h"
#include "runtime/executor.h"

namespace lemma::api {

struct Roofline {
  double flops_per_second = 0;  // of a matrix product
  double bytes_per_second = 0;  // read and written by one element-wise kernel, beyond the caches

  // Seconds that `work` takes at least; 0 for none.
  double SecondsFor(const Work& work) const;
};

// Measures both with the back end's own kernels: the best of a few runs of x @ w and of relu(x).
// Takes a second or so.
absl::StatusOr<Roofline> MeasureRoofline(Backend* backend, const CompileOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_ROOFLINE_H_
