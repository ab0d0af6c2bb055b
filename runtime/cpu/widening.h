// Rewrites a graph so that operators on 16-bit floats compute in f32 if only f32 has a kernel.
#ifndef LEMMA_RUNTIME_CPU_WIDENING_H_
#define LEMMA_RUNTIME_CPU_WIDENING_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cpu {

// A graph that a rewrite made from a given graph, with the origins of its new values.
struct WideGraph {
  Graph graph;
  // For each value that the rewrite added: the value of the given graph for which it was added. The
  // added value is, for example, the given value in another type, the given value before it is
  // rounded, or a part of the given value.
  absl::flat_hash_map<Value, Value> origin;

  // The value of the given graph for which `v` was added; `v` itself if the rewrite did not add it.
  Value OriginOf(const Value& v) const {
    auto it = origin.find(v);
    return it == origin.end() ? v : it->second;
  }
  // The same for a node.
  const NodePtr& OriginOf(const NodePtr& node) const;
};

// A graph that computes the same function of the same inputs. Operators on f16 and bf16 for which
// only f32 has a kernel (FindKernel in runtime/cpu/kernels/kernel.h) compute in f32. Two casts, to
// the 16-bit type and back, round each result that is not exact in 16 bits, so every value of the
// given graph keeps its elements. Among the added values, only results before rounding differ from
// the values for which they were added. Values that such operators read or write are kept as f32,
// also across operators that only move elements.
//
// An operator's definition decides whether it may compute in f32 (NodeTraits::widens). A graph
// without such operators is returned as it is.
WideGraph Widened(const Graph& graph, NodeTraitsCache& traits);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_WIDENING_H_
