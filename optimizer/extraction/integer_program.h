// The integer program of Extract (extraction.h), solved with CBC.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_INTEGER_PROGRAM_H_
#define LEMMA_OPTIMIZER_EXTRACTION_INTEGER_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/extraction/candidates.h"
#include "optimizer/extraction/extraction.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// The program falls into components that share no variable; each component is solved alone. Two
// sorts of classes are always provided, so their users need no constraint, and they connect no
// components:
//   * free classes: classes that can be computed at no price.
//   * classes on which an output depends in every graph.
class IntegerProgram {
 public:
  // is_free: by class. `candidates` must outlive the program.
  IntegerProgram(const EGraph& egraph, const std::vector<int64_t>& price,
                 const Candidates& candidates, const std::vector<bool>& is_free);

  // The best selection found; it may contain providers that no output depends on. `greedy` provides
  // each class that can be computed, free classes at no price; `start` is the part of `greedy` on
  // which the outputs depend. *bound becomes a lower bound on the price of every selection, in
  // nanoseconds. max_nodes: limit on the nodes of the solver's search tree for each component.
  Selection Solve(const Selection& greedy, const Selection& start, int max_nodes,
                  double* bound) const;

 private:
  struct Row {  // the sum of factors[i] * columns[i] >= at_least
    std::vector<int> columns;
    std::vector<double> factors;
    double at_least;
  };
  // Columns that rows connect, and these rows.
  struct Component {
    std::vector<int> columns;
    std::vector<const Row*> rows;
  };

  int AddVariable(double objective);
  void AddSum(const std::vector<int>& columns, double at_least);
  // Adds the constraint sum(more) >= sum(less).
  void AddAtLeast(const std::vector<int>& more, const std::vector<int>& less);
  // The components that must provide a class. In all other components, all variables are 0 in the
  // best solution.
  std::vector<Component> Components() const;
  // *value holds a solution; the solver's best solution replaces it. Returns a lower bound on the
  // component's part of the objective.
  double SolveComponent(const Component& component, int max_nodes,
                        std::vector<double>* value) const;

  const Candidates& candidates_;
  absl::flat_hash_map<int, int> x_;  // by node
  std::vector<std::vector<int>> y_;  // by class, as of_class; empty for free classes
  std::vector<double> objective_;    // in microseconds
  std::vector<Row> rows_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_INTEGER_PROGRAM_H_
