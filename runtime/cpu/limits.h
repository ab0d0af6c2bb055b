// Rejects graphs whose convolutions and poolings have attributes that oneDNN cannot compute with.
#ifndef LEMMA_RUNTIME_CPU_LIMITS_H_
#define LEMMA_RUNTIME_CPU_LIMITS_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace lemma::cpu {

// InvalidArgument if an attribute of a window (strides, dilations, pads, kernel) is too large for
// oneDNN's 32-bit arithmetic. The message has the operator, the attribute and its value.
absl::Status CheckLimits(const Graph& graph);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_LIMITS_H_
