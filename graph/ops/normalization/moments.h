// Means and variances for normalizations.
#ifndef LEMMA_GRAPH_OPS_NORMALIZATION_MOMENTS_H_
#define LEMMA_GRAPH_OPS_NORMALIZATION_MOMENTS_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/op_def.h"

namespace lemma::ops {

struct Moments {
  // Local tensors; their dimensions are the axes of input 0 that are not in `over`.
  TensorId mean = -1, variance = -1;
};

// Mean and population variance of input 0 over the axes `over` (in [0, rank)), as local tensors of
// the definition. The variance is the mean of (x - mean)², since mean(x²) - mean² would lose
// digits.
Moments LocalMoments(OpContext& c, const std::vector<int>& over);

// Requires that input 0 has size 1 or more along each of the axes `over`.
absl::Status RequireNotEmpty(OpContext& c, const std::vector<int>& over);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_NORMALIZATION_MOMENTS_H_
