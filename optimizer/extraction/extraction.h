// Extracts the cheapest graph from an e-graph.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_
#define LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// Nodes that form a graph without cycles: each needed class has one value that provides it.
struct Selection {
  // By EGraph::ClassOf: the value that provides the class; node < 0 if the class is not needed.
  std::vector<ValueRef> provider;
  int64_t price = 0;  // sum of the nodes' prices in nanoseconds, each node counted once
};

struct Extraction {
  Selection best;
  // A lower bound on the prices of all graphs considered, with a relative tolerance of 1e-6. At
  // most best.price.
  int64_t bound = 0;
  int num_left_out = 0;  // number of node outputs excluded because they would close a cycle
};

struct ExtractionOptions {
  // Limit on nodes of the solver's search tree, for each independent part of the program. At the
  // limit, Extract returns the best graph and the best bound so far.
  int max_nodes = 2000;
};

// In both functions, price[n] is the price of computing node n, in nanoseconds; Cost::kInfinite:
// node n must not be used. If an output of a node would close a cycle with nodes of lower numbers,
// this output is excluded (as in Yang et al., 2021; see rewrite/egraph/egraph.h). So no graph
// considered has a cycle, but some acyclic graphs are not considered. FailedPrecondition if no
// graph is left. If the prices of all original nodes are finite, at least one graph that consists
// of original nodes is left.

// Works bottom up: for each class, chooses the node for which the node itself and all nodes chosen
// below it have the lowest total price. The result need not be the cheapest graph.
absl::StatusOr<Selection> ExtractGreedily(const EGraph& egraph, const std::vector<int64_t>& price);

// Solves an integer program with CBC. Variables: x_n, whether node n is computed; y_v, whether
// value v provides its class. The program minimizes the sum of price_n x_n. Constraints:
//   * y_v <= x_n for each value v of node n.
//   * For the class of each graph output, the y of its values sum to at least 1.
//   * For classes c and d, if values of c are computed from d: the sum of y_v over all values v of
//     d is at least the sum of y_v over the values v of c whose nodes have d as an operand.
// Constraints on necessary classes (docs/glossary.md) tighten the program. The result costs at most
// as much as the result of ExtractGreedily. Deterministic.
absl::StatusOr<Extraction> Extract(const EGraph& egraph, const std::vector<int64_t>& price,
                                   const ExtractionOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_
