// Parts that batch normalization for inference and for training share.
#ifndef LEMMA_GRAPH_OPS_NORMALIZATION_BATCH_NORM_H_
#define LEMMA_GRAPH_OPS_NORMALIZATION_BATCH_NORM_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_def.h"

namespace lemma::ops {

// Requires that x is [N,C,spatial…] of a float type and that inputs 1, 2, … are vectors of C
// elements. Messages call these `names`.
absl::Status RequireChannelVectors(OpContext& c, const std::vector<const char*>& names);

// All axes of x except the channels.
std::vector<int64_t> OverChannels(const Value& x);

// The attribute `epsilon`, which is added to the variance.
AttrSpec BatchNormEpsilon();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_NORMALIZATION_BATCH_NORM_H_
