// Marks values that are recomputed, or stored elsewhere between uses, to save memory. The two
// operators are defined in graph/ops/training/barrier.cc and graph/ops/training/offload.cc.
#ifndef LEMMA_GRAPH_BARRIER_H_
#define LEMMA_GRAPH_BARRIER_H_

#include "graph/graph.h"

namespace lemma {

// `x`, available once `after` has been computed. A graph does not identify the result with `x`, so
// nodes that read it are not merged with nodes that read `x`.
Value Barrier(const Value& x, const Value& after);

// `x`, stored in host memory if the device has its own memory.
Value Offload(const Value& x);

// Whether `node` applies the operator barrier, or offload.
bool IsBarrier(const Node& node);
bool IsOffload(const Node& node);

// Replaces each barrier by its first operand and each offload by its operand in `graph`, so that
// duplicated computations merge again. Input and output names stay, and so do labels of nodes that
// remain.
Graph WithoutBarriers(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_BARRIER_H_
