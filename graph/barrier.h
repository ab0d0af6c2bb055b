// Values that are computed again: see graph/ops/barrier.cc.
#ifndef LEMMA_GRAPH_BARRIER_H_
#define LEMMA_GRAPH_BARRIER_H_

#include "graph/graph.h"

namespace lemma {

// `x`, at hand once `after` is: what is computed from it is another value than what is computed
// from x itself.
Value Barrier(const Value& x, const Value& after);

// `graph` with the first operand of each barrier in its place, so that what was computed twice is
// computed once. Names and, where a node lives on, labels stay.
Graph WithoutBarriers(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_BARRIER_H_
