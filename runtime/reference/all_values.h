// A graph evaluated by the definitions of its operators, with all that lies between.
#ifndef LEMMA_RUNTIME_REFERENCE_ALL_VALUES_H_
#define LEMMA_RUNTIME_REFERENCE_ALL_VALUES_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Every value of the graph, inputs and weights included, each result rounded to its type. Keeps all
// of them in memory.
absl::StatusOr<absl::flat_hash_map<Value, Tensor>> AllValues(const Graph& graph,
                                                             absl::Span<const Tensor> inputs,
                                                             int threads = 1);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_ALL_VALUES_H_
