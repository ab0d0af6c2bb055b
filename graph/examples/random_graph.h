// Makes random graphs over the whole operator table, to compare two executions of a
// graph.
#ifndef LEMMA_GRAPH_EXAMPLES_RANDOM_GRAPH_H_
#define LEMMA_GRAPH_EXAMPLES_RANDOM_GRAPH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma {

struct RandomGraphOptions {
  int operators = 8;             // the largest number of them
  int64_t most_elements = 4096;  // the largest number of a value
  // The operators that may occur; default: all that have a definition.
  std::function<bool(const OpDef&)> allowed;
  // Operators that must not occur together with infinite or NaN numbers.
  std::function<bool(const OpDef&)> finite_only;
  // The element types of inputs and casts; default: all.
  std::function<bool(DType)> allowed_type;
  // Makes subgraphs that are used next to operators, in three of five draws. A subgraph is applied
  // to existing values that have its inputs' types or can be cut and padded to them. The argument
  // is a seed; nullopt: no subgraph this time. If set, every unread value is an output.
  std::function<std::optional<Graph>(uint64_t seed)> part;
};

struct RandomGraph {
  Graph graph;
  std::vector<Tensor> inputs;
};

// The graph contains operators with the attributes of their examples, on existing values if their
// types allow it, otherwise on new inputs and weights. It also contains casts between all element
// types, chains that can be fused, slices, transposed views, concatenations, values with several
// users, and several outputs. Sizes include 0, 1 and odd ones; one graph in eight has infinite, NaN
// or -0 floats, and one in six computes in f16 or bf16. The same seed gives the same graph.
RandomGraph MakeRandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXAMPLES_RANDOM_GRAPH_H_
