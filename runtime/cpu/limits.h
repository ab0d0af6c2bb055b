// What no plan can be made for.
#ifndef LEMMA_RUNTIME_CPU_LIMITS_H_
#define LEMMA_RUNTIME_CPU_LIMITS_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace lemma::cpu {

// InvalidArgument, which names the operator and the attribute, if the graph slides a window in
// steps that the library cannot count.
absl::Status CheckLimits(const Graph& graph);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_LIMITS_H_
