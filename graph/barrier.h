// Makes barriers and offloads. A barrier delays the nodes that read it until another value is
// available. An offload marks a value to be kept in host memory. Memory reduction puts barriers on
// operands of recomputed nodes and on offloaded values that are fetched back. The ONNX import puts
// barriers on values that use a result size, so that the operator that gives the size is still
// executed. The CPU back end puts barriers between the blocks of a large value, so that the blocks
// are computed one after the other. The operators are defined in graph/ops/training/barrier.cc and
// graph/ops/training/offload.cc.
#ifndef LEMMA_GRAPH_BARRIER_H_
#define LEMMA_GRAPH_BARRIER_H_

#include "graph/graph.h"

namespace lemma {

// A value that equals `x`, but is available only when `after` has been
// computed. The result is not the same Value as `x`, so a node that reads it is
// not merged with a node that reads `x`.
Value Barrier(const Value& x, const Value& after);

// A value y that equals `x`. y is kept in host memory if the device has its own memory and only
// barriers read y.
Value Offload(const Value& x);

// Whether `node` applies the operator `barrier`.
bool IsBarrier(const Node& node);
// Whether `node` applies the operator `offload`.
bool IsOffload(const Node& node);

// A copy of `graph` with the first operand in place of each barrier or offload.
// So duplicated computations merge again. Names of inputs and outputs stay;
// labels stay at nodes that remain.
Graph WithoutBarriers(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_BARRIER_H_
