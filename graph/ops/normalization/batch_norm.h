// Parts that batch normalization for inference and for training share.
#ifndef LEMMA_GRAPH_OPS_NORMALIZATION_BATCH_NORM_H_
#define LEMMA_GRAPH_OPS_NORMALIZATION_BATCH_NORM_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_def.h"

namespace lemma::ops {

// Requires three things: input 0, x, is [N,C,spatial…] with any number of spatial dimensions, also
// none; inputs 1, 2, … are vectors of C elements; and all inputs have the same float type. `names`
// are the names of all inputs but x, for messages.
absl::Status RequireChannelVectors(OpContext& c, const std::vector<const char*>& names);

// The axes of x, [N,C,spatial…], without axis 1 (the channels). Statistics are taken over these
// axes.
std::vector<int64_t> AllButChannels(const Value& x);

// The attribute `epsilon`, which is added to the variance; 1e-5 by default.
AttrSpec BatchNormEpsilon();

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_NORMALIZATION_BATCH_NORM_H_
