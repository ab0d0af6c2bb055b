// The nodes of an e-graph from which a graph may be extracted.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_CANDIDATES_H_
#define LEMMA_OPTIMIZER_EXTRACTION_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// The classes of the node's operands, each once, ascending.
std::vector<int> OperandClasses(const EGraph& egraph, int node);

// The nodes from which a graph without cycles can be extracted: those that can run and on which the
// outputs of the graph depend. Each output of a node is admitted unless it would close a cycle with
// the outputs admitted before, which are those of nodes with smaller numbers. The nodes of the
// input graph have the smallest numbers, so if they can run, a graph that consists of some of them
// is included. A node of the input graph can close a cycle too, if its value was found to equal a
// value from which it is computed.
struct Candidates {
  // price[n]: Cost::kInfinite if node n must not be used.
  Candidates(const EGraph& egraph, const std::vector<int64_t>& price);

  std::vector<int> nodes;                      // operands before users
  std::vector<std::vector<ValueRef>> made_by;  // by node: its outputs that close no cycle
  // By class: its admitted values; empty if the class is not needed.
  std::vector<std::vector<ValueRef>> of_class;
  std::vector<int> classes;  // needed classes, each after those it is computed from
  int num_left_out = 0;      // outputs that would close a cycle
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_CANDIDATES_H_
