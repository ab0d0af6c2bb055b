// Makes random graphs over the whole operator table. Tests and `lemma hunt` execute each graph in
// two ways and compare the results.
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
  // The maximal number of steps that add something: an operator, or a subgraph that `part` makes.
  int operators = 8;
  int64_t most_elements = 4096;  // the maximal number of elements of a value; at least 4
  // The operators that may occur; default: all operators of the table that have
  // a definition. Cast, transpose, slice, concat and pad may always occur
  // outside of the subgraphs that `part` makes.
  std::function<bool(const OpDef&)> allowed;
  // Operators that must not occur in graphs with infinite or NaN values, except
  // for the five operators above; default: none.
  std::function<bool(const OpDef&)> finite_only;
  // The element types of inputs and casts; default: all that are not opaque.
  std::function<bool(DType)> allowed_type;
  // Whether integers of 4 and 2 bits may occur. Only some back ends compute
  // with these types. Small floats never occur.
  bool narrow_integers = false;
  // If set, about three of five steps add a subgraph instead of an operator. The function makes the
  // subgraph from `seed`; if it returns nullopt, nothing is added and the step does not count. The
  // subgraph's operands are new values, or existing values that are cut and padded to the types of
  // its inputs where needed. With `part`, every result that no operator reads is an output of the
  // graph.
  std::function<std::optional<Graph>(uint64_t seed)> part;
};

struct RandomGraph {
  Graph graph;
  std::vector<Tensor> inputs;  // values for graph.inputs(), in order
};

// The graph is made of operators with the attributes of their examples, of casts between element
// types, and of slices, transposes, concatenations and pads. Operands are mostly existing values
// whose types fit, otherwise new inputs, weights and constants. So there are chains that can be
// fused and values with several users. A graph may have several outputs. Sizes include 0, 1 and odd
// numbers. About one graph in eight may have infinite, NaN or -0 floats, and about one in six
// computes in f16 or bf16. The same seed and options give the same graph.
RandomGraph MakeRandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXAMPLES_RANDOM_GRAPH_H_
