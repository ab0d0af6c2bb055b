// Finds the subprograms of a graph: the parts that PET mutates.
#ifndef LEMMA_PET_SUBPROGRAM_H_
#define LEMMA_PET_SUBPROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

struct Subprogram {
  // The graph has one output. Its inputs stand for values of the whole graph. A value that depends
  // only on weights and constants becomes a weight, which is named by its number among the leaves
  // and filled with ones. So parts of a model that differ only in the values of weights are equal
  // graphs. A uniform constant stays a constant.
  Graph graph;
  int occurrences = 1;  // in the whole graph
  Value first;          // the output at the first occurrence, as a value of the whole graph
};

struct SubprogramOptions {
  int max_ops = 2;  // limit on the operators of a chain
  // Subprograms with fewer output elements are skipped.
  int64_t min_elements = 1;
};

// The subprograms of a graph, of three kinds:
//   * single operators that compute sums (IsSum in pet/mutants/contraction.h);
//   * chains of up to max_ops such operators whose inner values nothing else uses;
//   * groups of any number of applications of one such operator, whose results one other operator
//     combines and nothing else uses. The other operator computes only with +, -, * and /
//     (IsAlgebra in pet/mutants/contraction.h), as a concatenation and an addition do.
// The subprograms are in the order in which their outputs occur in the graph; equal subprograms are
// listed once.
absl::StatusOr<std::vector<Subprogram>> SubprogramsOf(const Graph& graph,
                                                      const SubprogramOptions& options = {});

}  // namespace lemma::pet

#endif  // LEMMA_PET_SUBPROGRAM_H_
