// The parts of a graph that PET works on.
#ifndef LEMMA_PET_SUBPROGRAM_H_
#define LEMMA_PET_SUBPROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

struct Subprogram {
  // One output. Its inputs stand for values of the whole graph; what depends on weights and
  // constants only is a weight, named by its place and filled with ones, so that equal parts of a
  // model are equal graphs.
  Graph graph;
  int occurrences = 1;
  Value first;  // what it computes where it occurs first
};

struct SubprogramOptions {
  int max_ops = 2;
  // Elements of the output that make it worth looking at.
  int64_t min_elements = 1;
};

// The connected parts, of at most so many operators, whose elements are sums of products of at
// least two inputs or weights, and whose inner values nothing else uses: single operators, and
// chains. In the order in which their outputs occur; each once.
absl::StatusOr<std::vector<Subprogram>> SubprogramsOf(const Graph& graph,
                                                      const SubprogramOptions& options = {});

}  // namespace lemma::pet

#endif  // LEMMA_PET_SUBPROGRAM_H_
