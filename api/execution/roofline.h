// Measures the peak rates of a back end on this machine: operations and bytes per second. A profile
// compares kernels with these rates.
#ifndef LEMMA_API_EXECUTION_ROOFLINE_H_
#define LEMMA_API_EXECUTION_ROOFLINE_H_

#include "absl/status/statusor.h"
#include "kernels/loops/cost.h"
#include "runtime/executor.h"

namespace lemma::api {

struct Roofline {
  double flops_per_second = 0;  // of a matrix product
  // Bytes read and written by an element-wise kernel on a large tensor.
  double bytes_per_second = 0;

  // The time for `work` in seconds: the longer of the times that its operations and its bytes take
  // at these rates, without a fixed overhead; 0 for no work. Both rates must be positive.
  double SecondsFor(const Work& work) const;
};

// Measures both rates with the back end's own kernels: the best of a few runs of x @ w and of
// relu(x). Takes about a second. Errors of the back end.
absl::StatusOr<Roofline> MeasureRoofline(Backend* backend, const CompileOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_ROOFLINE_H_
