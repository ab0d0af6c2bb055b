// Values that are computed again, or kept elsewhere meanwhile: see graph/ops/training/barrier.cc
// and graph/ops/training/offload.cc.
#ifndef LEMMA_GRAPH_BARRIER_H_
#define LEMMA_GRAPH_BARRIER_H_

#include "graph/graph.h"

namespace lemma {

// `x`, at hand once `after` is: what is computed from it is another value than what is computed
// from x itself.
Value Barrier(const Value& x, const Value& after);

// `x`, in the host's memory where the device has its own.
Value Offload(const Value& x);

// Whether it is an application of these: what they compute says nothing of when and where.
bool IsBarrier(const Node& node);
bool IsOffload(const Node& node);

// `graph` with the first operand of each barrier and the operand of each offload in its place, so
// that what was computed twice is computed once. Names and, where a node lives on, labels stay.
Graph WithoutBarriers(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_BARRIER_H_
