// Rejects graphs for which no plan can be made.
#ifndef LEMMA_RUNTIME_CPU_LIMITS_H_
#define LEMMA_RUNTIME_CPU_LIMITS_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace lemma::cpu {

// InvalidArgument, with the operator and the attribute, if an attribute of a window (strides,
// dilations, pads, kernel) is too large for oneDNN's 32-bit arithmetic.
absl::Status CheckLimits(const Graph& graph);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_LIMITS_H_
