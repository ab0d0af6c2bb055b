// Rebuilds a graph operator by operator. Internal to runtime/cuda/fusion.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_REBUILT_GRAPH_H_
#define LEMMA_RUNTIME_CUDA_FUSION_REBUILT_GRAPH_H_

#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma::cuda {

// Maps the values of an old graph to the values that replace them in a new graph. A value without
// an entry is its own replacement. If Set is called again for a value, the first entry stays.
class ValueMap {
 public:
  void Set(const Value& v, const Value& now) { map_.try_emplace(v, now); }
  const Value& Of(const Value& v) const {
    const auto it = map_.find(v);
    return it == map_.end() ? v : it->second;
  }
  std::vector<Value> Of(absl::Span<const Value> values) const {
    std::vector<Value> now;
    for (const Value& v : values) now.push_back(Of(v));
    return now;
  }

 private:
  absl::flat_hash_map<Value, Value> map_;  // where they differ
};

// Returns `graph`, rebuilt in order. `rebuilt` gets an operator and the replacements of earlier
// values. It returns one value for each output of the operator, of the same type. These values
// replace the operator's outputs, also as outputs of the graph, and take over their labels. If
// `rebuilt` returns no values, the operator stays with its old operands, even if these were
// replaced.
Graph WithNodes(const Graph& graph,
                const std::function<std::vector<Value>(const NodePtr&, const ValueMap&)>& rebuilt);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_REBUILT_GRAPH_H_
