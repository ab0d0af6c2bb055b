// Evaluates a graph by the definitions of its operators, and keeps all intermediate values.
#ifndef LEMMA_RUNTIME_REFERENCE_ALL_VALUES_H_
#define LEMMA_RUNTIME_REFERENCE_ALL_VALUES_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Every value of the graph, including inputs and weights. All weights must have values. `inputs`
// are in the graph's order. Each operator's result is rounded to its type. All values are in memory
// at once. Errors are those of EvaluateNode (runtime/reference/reference.h).
absl::StatusOr<absl::flat_hash_map<Value, Tensor>> AllValues(const Graph& graph,
                                                             absl::Span<const Tensor> inputs,
                                                             int threads = 1);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_ALL_VALUES_H_
