// Finds the subprograms of a graph: the parts that PET mutates.
#ifndef LEMMA_PET_SUBPROGRAM_H_
#define LEMMA_PET_SUBPROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

struct Subprogram {
  // Has one output. Its inputs stand for values of the whole graph. A value that depends on weights
  // and constants only becomes a weight, named by its place and filled with ones, so that equal
  // parts of a model are equal graphs; but a uniform constant stays a constant.
  Graph graph;
  int occurrences = 1;
  Value first;  // the whole graph's value that it computes at its first occurrence
};

struct SubprogramOptions {
  int max_ops = 2;  // of a chain
  // Subprograms with fewer output elements are skipped.
  int64_t min_elements = 1;
};

// The subprograms that sum products: single operators, chains of up to max_ops of them whose inner
// values nothing else uses, and any number of applications of one operator that another one
// concatenates or adds. In the order in which their outputs occur; each once.
absl::StatusOr<std::vector<Subprogram>> SubprogramsOf(const Graph& graph,
                                                      const SubprogramOptions& options = {});

}  // namespace lemma::pet

#endif  // LEMMA_PET_SUBPROGRAM_H_
