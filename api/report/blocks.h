// Finds repeated blocks of operators, to draw a large graph small. Internal to the reports.
#ifndef LEMMA_API_REPORT_BLOCKS_H_
#define LEMMA_API_REPORT_BLOCKS_H_

#include <vector>

#include "graph/graph.h"

namespace lemma::api {

// A run of operators that is drawn as one box: `copies` blocks of `period` operators each, one
// directly after the other in the order of Graph::nodes(), without the nodes that are no operators.
// The blocks are isomorphic: the operators at the same position have the same attributes, types of
// results and of weights, and read the same operators of their block. One copy: a run of operators
// that does not repeat, in a graph that has too many boxes otherwise.
struct Block {
  int first = 0;  // the number of the first operator
  int period = 0;
  int copies = 1;
  int end() const { return first + period * copies; }
};

// Disjoint blocks in ascending order, so that blocks and operators outside of them are about
// `most_boxes` boxes or fewer. Contracting the blocks leaves a graph without cycles. Takes a time
// linear in the number of operators, times at most 512.
std::vector<Block> BlocksOf(const Graph& graph, int most_boxes);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_BLOCKS_H_
