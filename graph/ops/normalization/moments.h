// Means and variances for normalizations.
#ifndef LEMMA_GRAPH_OPS_NORMALIZATION_MOMENTS_H_
#define LEMMA_GRAPH_OPS_NORMALIZATION_MOMENTS_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/op_def.h"

namespace lemma::ops {

struct Moments {
  TensorId mean = -1, variance = -1;  // indexed by the remaining axes
};

// Mean and population variance of input 0 over the axes `over`, as locals. The variance is the mean
// square of the differences from the mean; the mean square less the squared mean would lose digits.
Moments LocalMoments(OpContext& c, const std::vector<int>& over);

// Requires that none of the axes `over` of input 0 is empty.
absl::Status RequireNotEmpty(OpContext& c, const std::vector<int>& over);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_NORMALIZATION_MOMENTS_H_
