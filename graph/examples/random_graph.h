// Makes random graphs over the whole operator table. Tests execute each in two ways and compare.
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
  int operators = 8;             // steps, at most; each adds an operator, or a subgraph of `part`
  int64_t most_elements = 4096;  // elements of a value, at most; 4 or more
  // The operators that may occur; default: all that have a definition.
  std::function<bool(const OpDef&)> allowed;
  // Operators that must not occur in graphs with infinite or NaN values; default: none.
  std::function<bool(const OpDef&)> finite_only;
  // The element types of inputs and casts; default: all that are not opaque.
  std::function<bool(DType)> allowed_type;
  // If set, three of five steps add a subgraph that this function makes from `seed`, instead of an
  // operator; nullopt: none in this step. A subgraph is applied to existing values, which are cut
  // and padded to the types of its inputs where needed, or to new ones. With `part`, every result
  // that no operator reads is an output of the graph.
  std::function<std::optional<Graph>(uint64_t seed)> part;
};

struct RandomGraph {
  Graph graph;
  std::vector<Tensor> inputs;  // values for graph.inputs(), in order
};

// The graph contains operators with the attributes of their examples, on existing values if their
// types allow it, otherwise on new inputs, weights and constants. It also contains casts between
// all element types, chains that can be fused, slices, transposed views, concatenations, values
// with several users, and several outputs. Sizes include 0, 1 and odd ones; one graph in eight has
// infinite, NaN or -0 floats, and one in six computes in f16 or bf16. The same seed gives the same
// graph.
RandomGraph MakeRandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXAMPLES_RANDOM_GRAPH_H_
