// Random graphs over the whole operator table, for tests that hold two executions of one graph
// against each other.
#ifndef LEMMA_TESTS_GRAPH_RANDOM_GRAPH_H_
#define LEMMA_TESTS_GRAPH_RANDOM_GRAPH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma {

struct RandomGraphOptions {
  int operators = 8;             // at most
  int64_t most_elements = 4096;  // of a value
  // Which operators may occur; default: all that have a definition.
  std::function<bool(const OpDef&)> allowed;
  // Which operators do not occur beside numbers that are infinite or NaN.
  std::function<bool(const OpDef&)> finite_only;
  // Which element types inputs and casts may have; default: all.
  std::function<bool(DType)> allowed_type;
  // Graphs that are drawn beside operators, three times of five: each is applied to values made
  // before where they have its inputs' types or can be cut and padded to them. By a seed; nullopt:
  // no graph this time. Every value that nothing reads is an output then.
  std::function<std::optional<Graph>(uint64_t seed)> part;
};

struct RandomGraph {
  Graph graph;
  std::vector<Tensor> inputs;
};

// Operators with the attributes of their examples, on values made before where their types allow
// it, else on new inputs and weights; casts between all element types; chains that can be fused,
// slices, transposed views, concatenations, values used several times, several outputs. Sizes 0 and
// 1 and odd ones; in one graph of eight, floats that are infinite, NaN or -0. The same seed gives
// the same graph.
RandomGraph MakeRandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_RANDOM_GRAPH_H_
