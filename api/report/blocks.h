// Finds repeated blocks of operators, so that a large graph can be drawn with few boxes. Internal
// to the reports.
#ifndef LEMMA_API_REPORT_BLOCKS_H_
#define LEMMA_API_REPORT_BLOCKS_H_

#include <vector>

#include "graph/graph.h"

namespace lemma::api {

// A run of operators that is drawn as one box. Operators are numbered from 0 in the order of
// Graph::nodes(); other nodes do not count. The run consists of `copies` copies of `period`
// operators each. The copies are isomorphic: operators at the same position of two copies have the
// same name, attributes, types of results, and kinds and types of operands, and they read the
// operators at the same positions of their own copies. A block with one copy is a run of any
// operators; such blocks are made only if the graph would otherwise have too many boxes.
struct Block {
  int first = 0;  // the number of the first operator
  int period = 0;
  int copies = 1;
  int end() const { return first + period * copies; }
};

// Disjoint blocks in ascending order. The blocks and the operators outside of blocks are together
// about `most_boxes` boxes or fewer. If each block becomes one node, the graph still has no cycles.
// The time is linear in the number of operators.
std::vector<Block> BlocksOf(const Graph& graph, int most_boxes);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_BLOCKS_H_
