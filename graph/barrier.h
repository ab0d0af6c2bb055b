// Makes the marks that memory reduction puts on values: barriers for values that are recomputed,
// and offloads for values stored elsewhere between uses. The two operators are defined in
// graph/ops/training/barrier.cc and graph/ops/training/offload.cc.
#ifndef LEMMA_GRAPH_BARRIER_H_
#define LEMMA_GRAPH_BARRIER_H_

#include "graph/graph.h"

namespace lemma {

// A value that equals `x`, but is available only once `after` has been computed. It is not the same
// Value as `x`, so a node that reads it is not merged with one that reads `x`.
Value Barrier(const Value& x, const Value& after);

// A value that equals `x` and is stored in host memory if the device has memory of its own.
Value Offload(const Value& x);

// Whether `node` applies the operator `barrier`, or `offload`.
bool IsBarrier(const Node& node);
bool IsOffload(const Node& node);

// Replaces each barrier by its first operand and each offload by its operand in `graph`, so that
// duplicated computations merge again. Input and output names stay, and so do labels of nodes that
// remain.
Graph WithoutBarriers(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_BARRIER_H_
