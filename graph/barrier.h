// Makes the marks that memory reduction puts on values: barriers for values that are recomputed,
// and offloads for values that are stored in host memory between uses. The operators are defined in
// graph/ops/training/barrier.cc and graph/ops/training/offload.cc.
#ifndef LEMMA_GRAPH_BARRIER_H_
#define LEMMA_GRAPH_BARRIER_H_

#include "graph/graph.h"

namespace lemma {

// A value that equals `x`, but is available only once `after` has been computed. It is not the same
// Value as `x`, so a node that reads it is not merged with a node that reads `x`.
Value Barrier(const Value& x, const Value& after);

// A value that equals `x`. It is kept in host memory if the device has its own memory and only
// barriers read the value.
Value Offload(const Value& x);

// Whether `node` applies the operator `barrier`.
bool IsBarrier(const Node& node);
// Whether `node` applies the operator `offload`.
bool IsOffload(const Node& node);

// A copy of `graph` with the first operand in place of each barrier, and with the operand in place
// of each offload, so that duplicated computations merge again. Names of inputs and outputs stay;
// labels stay at nodes that remain.
Graph WithoutBarriers(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_BARRIER_H_
